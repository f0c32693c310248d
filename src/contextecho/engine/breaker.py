"""A circuit breaker: a target that stops answering is left alone, tried now and then, given up.

The one thing to know: it counts different requests that fail one after the other, so a few
questions that a target never manages do not open it, and a target that is down does.
"""

from __future__ import annotations

from enum import Enum, auto

from contextecho.engine.pace import Limits


class State(Enum):
    """What a failure or an answer has made of the breaker."""

    AS_BEFORE = auto()
    OPENED = auto()
    CLOSED = auto()
    GIVEN_UP = auto()


class Breaker:
    """Closed: calls go. Open: none does until a pause is over, then one, on trial."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._failing: set[str] = set()  # keys of requests that failed since the last answer
        self._trials = 0  # that failed
        self._until: float | None = None  # when the pause is over; None: closed
        self.on_trial = False  # a call is out whose reply decides: no other may be sent

    def next_trial_at(self, now: float) -> float | None:
        """When the next call may be sent on trial; None: nothing is in the way."""
        return self._until if self._until is not None and now < self._until else None

    def sent(self) -> None:
        """A call is sent: on trial, if the breaker is open."""
        self.on_trial = self._until is not None

    def answered(self) -> State:
        """The target answered."""
        was_open = self._until is not None
        self._failing.clear()
        self._trials, self._until, self.on_trial = 0, None, False
        return State.CLOSED if was_open else State.AS_BEFORE

    def failed(self, key: str, sent_at: float, now: float) -> State:
        """A call for the request `key` failed; those sent before the pause say nothing new."""
        if self._until is None:
            self._failing.add(key)
            if len(self._failing) < self._limits.patience:
                return State.AS_BEFORE
            self._until = now + self._limits.pause(0)
            return State.OPENED
        if sent_at < self._until:
            return State.AS_BEFORE
        self.on_trial = False
        self._trials += 1
        if self._trials >= self._limits.trials:
            return State.GIVEN_UP
        self._until = now + self._limits.pause(self._trials)
        return State.AS_BEFORE
