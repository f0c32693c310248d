"""What a list of sessions says of each, without its text.

The one thing to know: a summary is made by reading the whole session, and is what the
index keeps. So it holds counts, names and reasons, never words of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.sessions.inside import look_inside
from contextecho.sessions.model import Kind, Session, Speaker


class Summary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One session, or the reason why there is none; counts are null then."""

    format: str
    error: str | None = None
    member: str | None = None  # which session of a file that holds several
    id: str | None = None
    prompts: int | None = None
    steps: int | None = None
    row_turns: int | None = None
    compactions: int | None = None  # that replaced the conversation by a summary
    final_texts: int | None = None  # messages of the model with text that call no tool
    commentary_texts: int | None = None  # those beside tool calls
    models: tuple[str, ...] = ()
    last_time: float | None = None  # seconds since 1970, of the last turn that has a time


class Summaries(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a file holds."""

    sessions: tuple[Summary, ...] = ()
    sub_agents: int = 0  # sessions that are sub-agents', which belong to another
    refusal: str | None = None  # why the system does not let the file be read


def summarise(path: Path) -> Summaries:
    """The sessions in a file; never raises."""
    inside = look_inside(path, _summary)
    if inside.is_refused and inside.error is not None:
        return Summaries(refusal=inside.error.what)
    if inside.format is None:
        return Summaries(sub_agents=inside.sub_agents)
    if inside.error is not None:
        return Summaries((Summary(inside.format, inside.error.what),))
    return Summaries(
        tuple(
            Summary(inside.format, made.what, member)
            if isinstance(made, SessionError)
            else replace(made, member=member)
            for member, made in inside.sessions
        ),
        inside.sub_agents,
    )


def _summary(session: Session) -> Summary:
    finals = list(_are_final(session))
    return Summary(
        format=session.format,
        id=session.id,
        prompts=session.prompts,
        steps=session.steps,
        row_turns=session.row_turns,
        compactions=len(session.full_compactions),
        final_texts=sum(finals),
        commentary_texts=len(finals) - sum(finals),
        models=session.models,
        last_time=next((t.time for t in reversed(session.turns) if t.time is not None), None),
    )


def _are_final(session: Session) -> Iterator[bool]:
    """For each message of the model that has text, whether it is a final answer."""
    spoken = (
        turn
        for turn in session.turns
        if turn.kind is Kind.ASSISTANT
        and turn.speaker is Speaker.MODEL
        and turn.chars
        and not turn.abandoned
    )
    for _, group in groupby(spoken, key=lambda turn: turn.message):
        yield list(group)[-1].final
