"""What is shared by all workers of a collection: limits, budget, and what is shown of them.

The one thing to know: a worker leases. It has slots that it may fill, passes to send calls
with, and money for the worst case of each, all of which the hub has counted as gone before
the worker hears of them. So no limit is met twice and no budget is overrun, whatever becomes
of a worker, and most calls need no word with the hub.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf

import msgspec

from contextecho.engine.pace import Limits, Pace
from contextecho.engine.progress import Tally
from contextecho.engine.quota import Quota, Sent
from contextecho.engine.spread.words import Ask, Back, Joining, Lease

BEAT = 0.5  # seconds between two words of a worker to which nothing happens
MOST_BEATS = 200  # a second, of all workers together


@dataclass(slots=True)
class _Worker:
    """A worker, as the hub knows it."""

    is_: Joining
    slots: int = 0
    in_flight: int = 0
    leased: float = 0.0  # of the budget
    tally: Tally = field(default_factory=lambda: Tally(total=0))

    @property
    def filling(self) -> int:
        """Slots that others cannot have now."""
        return max(self.slots, self.in_flight)


class _Account:
    """The limits of one account; the rules are those of a lone process."""

    def __init__(self, limits: Limits, most: int | None) -> None:
        self.pace = Pace(limits, most)
        self.quota = Quota()
        self.hold_until = 0.0
        self.workers = 0
        self.filled = 0  # slots of all of them

    def give_slots(self, worker: _Worker, in_flight: int) -> None:
        """As many as to each other, if the others leave them."""
        self.filled -= worker.filling
        fair = ceil(self.pace.slots / self.workers)
        worker.slots = max(0, min(fair, self.pace.slots - self.filled))
        worker.in_flight = in_flight
        self.filled += worker.filling

    def take_idle_slots(self, worker: _Worker) -> None:
        """Without a pass they are of no use to it; another one may have a pass and no slot."""
        self.filled -= worker.filling
        worker.slots = min(worker.slots, worker.in_flight)
        self.filled += worker.filling

    def came_back(self, worker: Joining, back: Back, now: float, ahead: float) -> None:
        """`ahead` is by how much this clock is ahead of the worker's."""
        sent = replace(back.sent, at=back.sent.at + ahead)
        self.quota.came_back(
            worker.weight, sent, back.usage, back.allowance, now, cached_count=worker.cached_count
        )
        if back.filled:
            self.pace.succeeded(self.pace.slots)
        if back.hold_until is not None:
            self.pace.limited(sent.at, now)
            self.hold_until = max(self.hold_until, back.hold_until + ahead)


class News(msgspec.Struct, frozen=True):
    """What a user is shown."""

    tallies: Mapping[str, Tally]  # of the workers that are at work
    said: tuple[str, ...]  # since this was last asked


class Hub:
    """One for all workers of an invocation."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float],
        *,
        room: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """`room` is what may be spent, and `seconds` the time there is; None: without bound.

        `clock` gives seconds.
        """
        self._limits = limits
        self._room = room
        self._clock = clock
        self._ends_at = None if seconds is None else clock() + seconds
        self._workers: dict[str, _Worker] = {}
        self._gone: set[str] = set()  # workers that have ended; their words may come late
        self._accounts: dict[str, _Account] = {}
        self._begun = 0  # passes for which money was given
        self._spent = 0.0
        self._said: list[str] = []

    # For workers

    def join(self, joining: Joining) -> float | None:
        """Let a worker share the limits. Returns the seconds until the deadline, if any."""
        if joining.account not in self._accounts:
            self._accounts[joining.account] = _Account(self._limits, joining.most)
        if joining.worker not in self._gone:
            self._workers[joining.worker] = _Worker(joining)
            self._accounts[joining.account].workers += 1
        return None if self._ends_at is None else max(0.0, self._ends_at - self._clock())

    def exchange(self, ask: Ask) -> Lease:
        """Hear what happened, and say what the worker may do next."""
        worker = self._workers.get(ask.worker)
        if worker is None:  # all that it held counts as spent already
            return Lease(dismissed=True)
        self._said += ask.said
        self._spent += ask.spent
        account, now = self._accounts[worker.is_.account], self._clock()
        for back in ask.back:
            account.came_back(worker.is_, back, now, now - ask.now)
        worker.tally, worker.leased = ask.tally, ask.held
        account.give_slots(worker, ask.in_flight)
        hold = max(0.0, account.hold_until - now)
        left = self._left()
        money = ask.short if ask.short <= left else 0.0
        passes = [] if hold else self._passes(worker, account, ask, left - ask.short)
        money += len(passes) * ask.worst
        worker.leased += money
        if not passes and not ask.passes:
            account.take_idle_slots(worker)
        return Lease(
            slots=worker.slots,
            passes=passes,
            money=money,
            hold=hold,
            again=max(hold, BEAT, len(self._workers) / MOST_BEATS),
            over=not money and self._is_over(ask.worst),
            begun=self._begun > 0,
        )

    def leave(self, ask: Ask, unused: list[Sent]) -> None:
        """A worker has ended: what it has left goes to the others."""
        self.exchange(ask)
        worker = self._workers.get(ask.worker)
        if worker is not None:
            self.lost(ask.worker)
            for sent in unused:
                self._accounts[worker.is_.account].quota.unsent(sent)

    def _passes(self, worker: _Worker, account: _Account, ask: Ask, left: float) -> list[Sent]:
        """As many as fill the idle slots, and half a round to come, if minute and budget allow."""
        now, weight = self._clock(), worker.is_.weight
        wanted = worker.slots - worker.in_flight + ceil(worker.slots / 2) - ask.passes
        passes: list[Sent] = []
        while len(passes) < min(wanted, ask.most) and (len(passes) + 1) * ask.worst <= left:
            if account.quota.wait(weight, now) > 0:
                break
            passes.append(account.quota.sent(weight, now))
        self._begun += len(passes)
        return passes

    def _left(self) -> float:
        """What is neither spent nor leased; without a bound there is always enough."""
        if self._room is None:
            return inf
        return self._room - self._spent - sum(worker.leased for worker in self._workers.values())

    def _is_over(self, worst: float) -> bool:
        """Whether one more call does not fit, and nothing is out that could leave room for it."""
        if self._room is None or self._spent + worst <= self._room:
            return False
        return not any(worker.leased for worker in self._workers.values())

    # For the command

    def lost(self, name: str) -> None:
        """A worker is no more. What it held of the budget may have been paid."""
        self._gone.add(name)
        worker = self._workers.pop(name, None)
        if worker is not None:
            account = self._accounts[worker.is_.account]
            account.workers -= 1
            account.filled -= worker.filling
            self._spent += worker.leased

    def news(self) -> News:
        """What to show."""
        said, self._said = tuple(self._said), []
        return News({name: worker.tally for name, worker in self._workers.items()}, said)

    def spent(self) -> tuple[float, int]:
        """What is gone of the budget, and for how many calls it was given at most."""
        return self._spent, self._begun
