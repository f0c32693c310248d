"""What surrounds each turn and may itself change the voice.

The one thing to know: a model that is swapped, a mode or a personality that is declared,
a client that is updated, a human who changes language are no drift (formats, section 9).
They are `Conditions`: texts, and positions, are only compared under equal ones. Segment,
pause and place in the turn are recorded beside them, since drift itself runs along them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from contextecho.sessions.language import language_of
from contextecho.sessions.model import Kind, Session, Speaker, Turn
from contextecho.untrusted import one_line


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What the file declares, and the language of the prompts; None where it does not say."""

    model: str | None = None
    version: str | None = None  # of the client
    mode: str | None = None
    personality: str | None = None
    language: str | None = None  # ISO 639-1, of the last prompt whose language can be told


def tell_apart(conditions: Iterable[Conditions]) -> dict[Conditions, str]:
    """Each of these in words: what differs between them, or the model where nothing does."""
    found = tuple(dict.fromkeys(conditions))
    names = [
        name
        for name in Conditions.__struct_fields__
        if len({getattr(each, name) for each in found}) > 1
    ]
    return {each: _words(each, names or ["model"]) for each in found}


def _words(conditions: Conditions, names: Iterable[str]) -> str:
    said = (f"{name} {getattr(conditions, name) or 'not recorded'}" for name in names)
    return one_line(", ".join(said))


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds one turn."""

    conditions: Conditions
    segment: int  # compactions before it
    final: bool  # a final answer, not commentary
    sub_agent: bool  # said in a sub-agent's own session
    gap: float | None  # seconds since the turn before, where both have a time


def circumstances_of(session: Session) -> Iterator[Circumstances]:
    """The circumstances of each turn, in the order of `session.turns`. Reads the prompts' text."""
    languages = _languages(session)
    before: float | None = None
    for turn in session.turns:
        gap = None if turn.time is None or before is None else turn.time - before
        before = before if turn.time is None else turn.time
        yield Circumstances(
            conditions=Conditions(**_declared(turn), language=languages.get(turn.prompt)),
            segment=turn.segment,
            final=turn.final,
            sub_agent=session.parent is not None,
            gap=gap,
        )


def _declared(turn: Turn) -> dict[str, Any]:
    names = ("model", "version", "mode", "personality")
    return {name: getattr(turn, name) for name in names}


def _languages(session: Session) -> dict[int, str | None]:
    """The language in force at each prompt; before the first that can be told, that one's."""
    said = [
        turn
        for turn in session.turns
        if turn.speaker is Speaker.HUMAN and turn.kind is Kind.USER and not turn.abandoned
    ]
    told: dict[int, str | None] = {}
    for turn, content in zip(said, session.contents(said), strict=True):
        if found := language_of(content.text):
            told[turn.prompt] = found
    current = next(iter(told.values()), None)
    in_force: dict[int, str | None] = {}
    for prompt in range(session.prompts + 1):
        current = told.get(prompt, current)
        in_force[prompt] = current
    return in_force
