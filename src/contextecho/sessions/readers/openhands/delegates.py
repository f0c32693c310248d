"""Delegates of V0: which events are theirs, and where each of them ends.

The one thing to know: a delegate's events stand in the same stream, behind the action that
hands the task over and up to the observation that answers it. A client that was stopped
meanwhile writes no answer: such a delegate ends where a person speaks next. So the file is
looked through for answers before its events are taken in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.fields import string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Sidechain
from contextecho.sessions.readers.openhands import v0
from contextecho.sessions.readers.openhands.thread import Thread, asks_on, id_of, text_of_id
from contextecho.untrusted import make_visible

DELEGATE: Final = b'"delegate"'
"""What a file holds in which a task was handed over."""
UNANSWERED: Final = "delegate without a result, taken to end at the next prompt or with the file"


class _Delegate(Struct):
    name: str  # its agent, and the event that began it
    line: int
    offset: int  # in the file, of the event that began it: no other has it
    keys: tuple[str, ...]  # how an answer names the event
    task: str  # as the client says it to the agent


class _Open:
    """The delegates that are at work: each but the first was begun by the one before it."""

    def __init__(self, answered: Collection[int] = ()) -> None:
        """`answered` are the places of those that will be, as far as that is known."""
        self.delegates: list[_Delegate] = []
        self.sure = 0  # of them: how many will be answered
        self._answered = answered
        self._by_key: dict[str, int] = {}

    def begin(self, placed: Placed) -> None:
        """One more; an event that is there again begins none."""
        delegate = _begun_by(placed)
        if self._by_key.keys().isdisjoint(delegate.keys):
            self._by_key |= dict.fromkeys(delegate.keys, len(self.delegates))
            self.delegates.append(delegate)
            self.sure += delegate.offset in self._answered

    def end(self, first: int) -> list[_Delegate]:
        """Take this one as done, and with it those that it began."""
        ended = self.delegates[first:]
        del self.delegates[first:]
        for delegate in ended:
            self.sure -= delegate.offset in self._answered
            for key in delegate.keys:
                del self._by_key[key]
        return ended

    def answered_by(self, event: dict[str, Any]) -> int | None:
        """Which of them the event gives the result of; one that names none, of the innermost."""
        name = event.get("observation")
        if not self.delegates or not isinstance(name, str) or name in v0.QUIET_OBSERVATIONS:
            return None
        named = (self._by_key.get(key) for key in _keys(event.get("cause"), event))
        innermost = len(self.delegates) - 1 if name == "delegate" else None
        return next((place for place in named if place is not None), innermost)


class Delegates:
    """Takes in what is the delegates', event by event."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._open = _Open()
        self._records: dict[str, int] = {}  # by the delegate, as are the models
        self._models: dict[str, dict[str, None]] = {}

    def learn(self, events: Iterable[Placed]) -> None:
        """Find out, before any is taken in, which delegates are answered."""
        self._open = _Open(_answered_among(events))

    def begin(self, placed: Placed) -> None:
        """An action handed a task over."""
        self._open.begin(placed)

    def take(self, placed: Placed) -> bool:
        """Take in an event if it is a delegate's; the result of the outermost is not."""
        if not self._open.delegates:
            return False
        place = self._open.answered_by(placed.value)
        if place is None and self._is_persons(placed.value):
            self.give_up()
            return False
        for lost in self._open.end(place)[1:] if place is not None else ():
            self._count_lost(lost)
        if place is None and placed.value.get("action") == "delegate":
            self._record(placed.value)
            self._open.begin(placed)
        elif place != 0:
            self._record(placed.value)
        return place != 0

    def give_up(self) -> None:
        """Those that are still at work have no result, and are done all the same."""
        for lost in self._open.end(0):
            self._count_lost(lost)

    def sidechains(self, path: Path) -> Iterator[Sidechain]:
        """The delegates met."""
        for name, records in self._records.items():
            models = (*self._models[name],)
            yield Sidechain(agent_id=make_visible(name), path=path, records=records, models=models)

    def _is_persons(self, event: dict[str, Any]) -> bool:
        """Whether a person speaks, and to the main agent: no delegate at work is answered later."""
        if self._open.sure or event.get("action") != "message" or event.get("source") != "user":
            return False
        text = string(event["args"], "content") or ""
        tasks = {f"TASK: {delegate.task}" for delegate in self._open.delegates[-1:]}
        return text not in tasks and not asks_on(text)

    def _record(self, event: dict[str, Any]) -> None:
        name = self._open.delegates[-1].name
        self._records[name] = self._records.get(name, 0) + 1
        models = self._models.setdefault(name, {})
        if (model := v0.model_of(event)) is not None:
            models[model] = None

    def _count_lost(self, delegate: _Delegate) -> None:
        self._thread.conversation.tally.add(UNANSWERED, delegate.line)


def _answered_among(events: Iterable[Placed]) -> frozenset[int]:
    """Where the actions begin that hand a task over and are answered."""
    at_work, answered = _Open(), set[int]()
    for placed in events:
        if not v0.is_event(placed.value):
            continue
        place = at_work.answered_by(placed.value)
        if place is not None:
            answered.add(at_work.end(place)[0].offset)
        elif placed.value.get("action") == "delegate":
            at_work.begin(placed)
    return frozenset(answered)


def _begun_by(placed: Placed) -> _Delegate:
    event = placed.value
    id = id_of(event)
    return _Delegate(
        name=f"{string(event['args'], 'agent') or 'delegate'} {id or ''}".strip(),
        line=placed.line,
        offset=placed.span.offset,
        keys=_keys(event.get("id"), event),
        task=string(event["args"], "inputs", "task") or "",
    )


def _keys(id: Any, event: dict[str, Any]) -> tuple[str, ...]:
    """How the event of this id is named by itself and by its answer: by the id, and by the call."""
    named = (("event", text_of_id(id)), ("call", v0.call_id_of(event)))
    return tuple(f"{kind} {name}" for kind, name in named if name is not None)
