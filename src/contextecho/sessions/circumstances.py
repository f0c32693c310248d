"""What surrounds each turn and may itself change the voice.

The one thing to know: a model that is swapped, a mode or a personality that is declared,
a client that is updated, a human who changes language are no drift (formats, section 9).
They are `Conditions`: texts, and positions, are only compared under equal ones. Segment,
pause and place in the turn are recorded beside them, since drift itself runs along them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from typing import Final

import msgspec

from contextecho.sessions.language import language_of
from contextecho.sessions.model import Kind, Session, Speaker, Turn
from contextecho.untrusted import one_line

# Modes that say nothing to the model: they decide what a client asks before it runs a tool.
_UNTOLD: Final = frozenset({"default", "acceptEdits", "bypassPermissions", "dontAsk"})


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What the file declares, and the language of the prompts; None where it does not say."""

    model: str | None = None
    version: str | None = None  # of the client
    mode: str | None = None  # without those that the model is not told of
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
    languages = _Languages(session)
    languages.tell_all()
    before: float | None = None
    for turn in session.turns:
        gap = None if turn.time is None or before is None else turn.time - before
        before = before if turn.time is None else turn.time
        yield Circumstances(
            conditions=_conditions(turn, languages),
            segment=turn.segment,
            final=turn.final,
            sub_agent=session.parent is not None,
            gap=gap,
        )


def conditions_at(session: Session, lines: Iterable[int]) -> list[Conditions | None]:
    """Under which conditions the model last spoke up to each line; `None` where it had not.

    Reads no more prompts than are needed to tell their language.
    """
    languages = _Languages(session)
    spoken = [t for t in session.turns if t.speaker is Speaker.MODEL and not t.abandoned]
    found = (bisect_right(spoken, line, key=lambda turn: turn.line) for line in lines)
    return [_conditions(spoken[said - 1], languages) if said else None for said in found]


def _conditions(turn: Turn, languages: _Languages) -> Conditions:
    return Conditions(
        model=turn.model,
        version=turn.version,
        mode=_told(turn.mode),
        personality=turn.personality,
        language=languages.at(turn.prompt),
    )


def _told(mode: str | None) -> str | None:
    """What of a declared mode the model is told."""
    if mode is None or mode in _UNTOLD:
        return None
    return ", ".join(name for name in mode.split(", ") if name not in _UNTOLD) or None


class _Languages:
    """The language in force at each prompt: the last that could be told, or else the next."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: dict[int, list[Turn]] = {}
        for turn in session.turns:
            human = turn.speaker is Speaker.HUMAN and turn.kind is Kind.USER
            if human and not turn.abandoned:
                self._said.setdefault(turn.prompt, []).append(turn)
        self._prompts = sorted(self._said)
        self._told: dict[int, str | None] = {}  # of each prompt alone
        self._up_to: dict[int, str | None] = {0: None}  # by number of prompts: what was told last

    def tell_all(self) -> None:
        """Read all prompts at once, since many may lie in one place of the file."""
        turns = [turn for prompt in self._prompts for turn in self._said[prompt]]
        contents = zip(turns, self._session.contents(turns), strict=True)
        for prompt, said in groupby(contents, key=lambda one: one[0].prompt):
            self._told[prompt] = language_of("\n".join(content.text for _, content in said))

    def at(self, prompt: int) -> str | None:
        """At this prompt, counted from 1; 0 is before the first."""
        return self._last(bisect_right(self._prompts, prompt)) or self._first

    def _last(self, count: int) -> str | None:
        """What the last of the first `count` prompts that can be told is written in."""
        untold = []
        while count not in self._up_to:
            untold.append(count)
            if told := self._tell(self._prompts[count - 1]):
                self._up_to[count] = told
            else:
                count -= 1
        told = self._up_to[count]
        self._up_to |= dict.fromkeys(untold, told)
        return told

    @cached_property
    def _first(self) -> str | None:
        """What the first prompt that can be told is written in."""
        return next((told for prompt in self._prompts if (told := self._tell(prompt))), None)

    def _tell(self, prompt: int) -> str | None:
        if prompt not in self._told:
            contents = self._session.contents(self._said[prompt])
            self._told[prompt] = language_of("\n".join(content.text for content in contents))
        return self._told[prompt]
