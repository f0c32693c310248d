"""Reading a file for what a list says of it.

The one thing to know: the whole session is read, as for a measurement, so a list never
counts by another rule than `show`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from contextecho.errors import PassingError, SessionError
from contextecho.sessions.finding.copies import are_kept_rows, originals_of
from contextecho.sessions.finding.inside import look_inside, looks_like_a_session
from contextecho.sessions.finding.repeats import marks_of
from contextecho.sessions.finding.summary import Summaries, Summary
from contextecho.sessions.model import Kind, Session, Speaker


def summarise(path: Path) -> Summaries:
    """The sessions in a file, and what it was made from; never raises."""
    said = str(path)
    return replace(_summarised(path), originals=originals_of(said), are_rows=are_kept_rows(said))


def _summarised(path: Path) -> Summaries:
    inside = look_inside(path, summary_of)
    if inside.format is None:
        if isinstance(inside.error, PassingError):
            return Summaries(refusal=inside.error.what)
        is_strange = inside.error is not None and looks_like_a_session(path, inside.error)
        stranger = inside.error.what if inside.error is not None and is_strange else None
        return Summaries(sub_agents=inside.sub_agents, stranger=stranger)
    if inside.error is not None:
        return Summaries((_failed(inside.format, None, inside.error),))
    return Summaries(
        tuple(
            _failed(inside.format, member, made)
            if isinstance(made, SessionError)
            else replace(made, member=member)
            for member, made in inside.sessions
        ),
        inside.sub_agents,
    )


def _failed(format: str, member: str | None, error: SessionError) -> Summary:
    return Summary(format, error.what, member, is_passing=isinstance(error, PassingError))


def summary_of(session: Session) -> Summary:
    """What a list says of a session that was read."""
    finals = list(_are_final(session))
    first_time, last_time = times_of(session)
    files: Sequence[Path] | None = [file.path for file in session.files] or getattr(
        session.source, "files", None
    )  # `Spread`
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
        first_time=first_time,
        last_time=last_time,
        bytes=None if files is None else session.bytes,
        cwd=session.cwd,
        is_cut=session.is_cut,
        written=None if files is None else _written(files),
        inherited_prompts=session.inherited_prompts,
        marks=marks_of(session),
        is_fork=session.forked_from is not None,
    )


def _written(files: Sequence[Path]) -> float | None:
    """When the newest of the files was written; one that is gone by now tells nothing."""
    newest = None
    for file in files:
        with suppress(OSError):
            newest = max(newest or 0.0, file.stat().st_mtime)
    return newest


def times_of(session: Session) -> tuple[float | None, float | None]:
    """When its first and its last turn were that have a time: seconds since 1970."""
    turns = session.turns
    first = next((turn.time for turn in turns if turn.time is not None), None)
    return first, next((turn.time for turn in reversed(turns) if turn.time is not None), None)


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
