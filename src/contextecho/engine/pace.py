"""How fast one target is asked: how many calls at once, and how long to wait after a failure.

The one thing to know: it is the rule of congestion control (additive increase,
multiplicative decrease; Chiu and Jain 1989). One round of calls that succeeds
adds a slot, a rate limit halves the slots, once for all the calls of a round.
"""

from __future__ import annotations

import random

import msgspec

from contextecho.defaults import ATTEMPTS


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How hard to try. Seconds throughout."""

    attempts: int = ATTEMPTS  # for each request, the first one included
    first_delay: float = 1.0  # before the second attempt; doubled each time
    longest_delay: float = 60.0  # for back-off
    longest_wait: float = 900.0  # that a `retry-after` may ask for
    concurrency: int = 8  # calls at once to one target, to begin with
    most_concurrency: int = 64
    patience: int = 10  # requests that fail in a row before a target is left alone for a while
    first_pause: float = 5.0  # that it is then left alone; doubled each time, to `longest_delay`
    trials: int = 12  # calls, one after each pause, that may fail before it is given up
    deadline: float | None = None  # when all must be over, on the loop's clock (time.monotonic)

    def delay(self, attempt: int, retry_after: float | None) -> float:
        """How long to wait after the `attempt`-th attempt (from 1) failed.

        What the provider asked for, but never less than the first delay (a
        `retry-after` of 0 is no leave to hammer); else exponential back-off. Up to
        half is taken off at random, so that calls that failed together do not
        return together.
        """
        spread = random.uniform(0.5, 1.0)
        if retry_after is not None:
            return min(max(retry_after, self.first_delay * spread), self.longest_wait)
        return min(self.first_delay * 2.0 ** (attempt - 1), self.longest_delay) * spread

    def pause(self, trials: int) -> float:
        """How long to leave a target alone after so many `trials` failed, jittered upwards."""
        pause = min(self.first_pause * 2.0**trials, self.longest_delay)
        return pause * random.uniform(1.0, 1.25)


DEFAULT_LIMITS = Limits()


class Pace:
    """The number of calls that may be in flight to one target."""

    def __init__(self, limits: Limits, most: int | None) -> None:
        """`most` is the target's own bound (1 for a model on this machine), if it has one."""
        self._most = limits.most_concurrency if most is None else most
        self._slots = float(min(limits.concurrency, self._most))
        self._halved_at = 0.0

    @property
    def slots(self) -> int:
        """Calls that may be in flight now."""
        return int(self._slots)

    def succeeded(self, in_flight: int) -> None:
        """A call came back well while `in_flight` were out; idle slots earn no more slots."""
        if in_flight >= self.slots:
            self._slots = min(self._slots + 1.0 / self._slots, float(self._most))

    def limited(self, sent_at: float, now: float) -> None:
        """A call sent at `sent_at` met a rate limit; one halving answers all of its round."""
        if sent_at >= self._halved_at:
            self._slots = max(self._slots / 2.0, 1.0)
            self._halved_at = now
