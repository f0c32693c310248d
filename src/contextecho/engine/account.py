"""What a provider counts together: calls at once, requests and tokens a minute.

The one thing to know: most providers count each model for itself, and then an account is
one target's. Where they count all models of a key together, its targets share one.
"""

from __future__ import annotations

from math import ceil
from typing import Protocol

from contextecho.contexts import Request
from contextecho.engine.pace import Limits, Pace
from contextecho.engine.quota import Quota, Sent
from contextecho.engine.sizes import Sizes, Weight
from contextecho.models import Model, Reply


def account_of(model: Model) -> str:
    """The name of the account whose limits a model shares."""
    return model.account or model.id


class Lane(Protocol):
    """A lane, as its account sees it."""

    in_flight: int  # calls of this lane that are out

    def wake(self) -> None:
        """Let it look for work."""
        ...


class Account:
    """The limits that one or more targets share."""

    def __init__(self, limits: Limits, most: int | None) -> None:
        """`most` calls at once are the target's own bound, if it has one."""
        self._lanes: list[Lane] = []
        self.in_flight = 0
        self._filled = 0  # slots, when the last call was sent
        self._pace = Pace(limits, most)
        self._quota = Quota()
        self._sizes = Sizes()
        self._hold_until = 0.0

    def join(self, lane: Lane) -> None:
        """Let a lane share the limits."""
        self._lanes.append(lane)

    def leave(self, lane: Lane) -> None:
        """A lane has nothing more to ask: its share goes to the others."""
        self._lanes.remove(lane)
        self._wake()

    def is_full(self, lane: Lane) -> bool:
        """Whether a lane may have no more calls in flight: all slots, or its share, are taken."""
        slots = self._pace.slots
        return self.in_flight >= slots or lane.in_flight >= ceil(slots / len(self._lanes))

    def held_until(self, now: float) -> float | None:
        """When the wait that a rate limit imposed is over; None: nothing holds calls back."""
        return self._hold_until if now < self._hold_until else None

    def weigh(self, request: Request) -> Weight:
        """What a request takes of a minute."""
        return self._sizes.weigh(request)

    def wait(self, weight: Weight, now: float) -> float:
        """Seconds until the minute has room for a request."""
        return self._quota.wait(weight, now)

    def sent(self, weight: Weight, now: float) -> Sent:
        """Count a call that is being sent."""
        self._take_slot()
        return self._quota.sent(weight, now)

    def came_back(self, model: Model, weight: Weight, sent: Sent, reply: Reply, now: float) -> None:
        """Learn what a reply tells about requests and tokens a minute."""
        self._quota.came_back(
            weight,
            sent,
            reply.usage,
            reply.allowance,
            now,
            cached_count=model.cached_count,
        )

    def bore(self) -> None:
        """A call came back well: more at once may be possible."""
        self._pace.succeeded(self._filled)

    def limited(self, sent: Sent, now: float, until: float) -> None:
        """A call met a rate limit: fewer at once, and none before `until`."""
        self._pace.limited(sent.at, now)
        self._hold_until = max(self._hold_until, until)

    def landed(self) -> None:
        """A call is out no more, whatever became of it."""
        self.in_flight -= 1
        self._wake()

    def _take_slot(self) -> None:
        self.in_flight += 1
        self._filled = self.in_flight

    def _wake(self) -> None:
        for lane in self._lanes:
            lane.wake()
