"""The mode and the personality that the client last declared; system prompt and origin.

The one thing to know: nothing is guessed. Before the first declaration both are None, and what
was declared holds from its record on, until the next. Of system prompts and of the sessions
that this one was copied from, the first is kept.
"""

from __future__ import annotations

from sys import intern
from typing import Final

from contextecho.sessions.readers.claude_code.asides import (
    AGENT,
    FORKED,
    KEPT,
    MODE,
    PERMISSION,
    PLAN,
    REQUESTED,
    SNAPSHOT,
    STYLE,
    Aside,
)

_PLANNING: Final = "plan"
_ORDINARY: Final = "normal"  # what a `mode` record says when there is nothing to say


class Declared:
    """What holds at one point of the file."""

    def __init__(self) -> None:
        self.mode: str | None = None
        self.personality: str | None = None
        self._said: dict[str, str] = {}
        self._first: dict[str, str] = {}
        self._permission_outside_plan: str | None = None

    @property
    def system(self) -> str | None:
        """The system prompt, as it was sent if the file says that."""
        return self._first.get(REQUESTED) or self._first.get(SNAPSHOT)

    @property
    def forked_from(self) -> str | None:
        """The session that this one was copied from."""
        return self._first.get(FORKED)

    def take(self, aside: Aside) -> None:
        """Take in what a record declares."""
        said = self._said
        kept = said.get(KEPT)
        said |= aside.declares
        if said.get(KEPT) != kept:  # the same again is no news: it may be a former run's
            said[PERMISSION] = said[KEPT]
        self._first = aside.declares | self._first
        if said.pop(PLAN, None) is not None:
            self._turn_plan(on=aside.declares[PLAN] == "on")
        if said.get(PERMISSION, _PLANNING) != _PLANNING:
            self._permission_outside_plan = said[PERMISSION]
        if said.get(MODE) == _ORDINARY:
            del said[MODE]
        self.mode = _joined(said.get(PERMISSION), said.get(MODE))
        self.personality = _joined(said.get(AGENT), said.get(STYLE))

    def _turn_plan(self, *, on: bool) -> None:
        """Plan mode begins, or ends: then what was declared before it holds again."""
        if on:
            self._said[PERMISSION] = _PLANNING
        elif self._said.get(PERMISSION) == _PLANNING:
            del self._said[PERMISSION]
            if self._permission_outside_plan is not None:
                self._said[PERMISSION] = self._permission_outside_plan


def _joined(*names: str | None) -> str | None:
    """The names that there are, as one; equal strings are one object, for turns to share."""
    return intern(", ".join(given)) if (given := [name for name in names if name]) else None
