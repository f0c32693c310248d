"""The requests of one target that go in batches: which are to be sent, and what became of each.

The one thing to know: a request is sent when nothing settles it, no batch that is out has it,
it was not sent too often, and its worst case fits the budget. What does not fit is not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from contextecho.contexts import Request
from contextecho.engine.budget import Tariff, too_small
from contextecho.engine.cost import batch_share
from contextecho.engine.lane import Job
from contextecho.models import Failed, FailureKind, Model, Reply, Result, find_price

Groups = Callable[[], Iterable[Iterable[Request]]]


class Tray:
    """What is to be sent to one target, and how the requests of it are counted."""

    def __init__(self, model: Model, groups: Groups, job: Job, tries: int) -> None:
        """`groups` are read anew for each round; a request is sent up to `tries` times.

        Raises `UsageError` when the budget is in dollars and the price is not known.
        """
        self.over_budget = False
        self._model = model
        self._groups = groups
        self._job = job
        self._tries = tries
        self._share = batch_share(model.id) or 1.0
        self._price = find_price(model.id)
        self._tariff = Tariff(model, job.purse.budget.unit, self._share) if job.purse else None
        self._worst: dict[str, float] = {}  # set aside for what is out, by key
        self._sent: dict[str, int] = {}  # how often, by key
        self._closed: set[str] = set()  # keys that need no more work

    def wanted(self, out: Container[str], admits: Callable[[], bool]) -> Iterator[list[Request]]:
        """The requests to send now, in groups of a prefix; while nothing is admitted, none.

        `out` are the keys that batches have. Every request is looked up, so that what the
        store holds is counted also when nothing may be sent any more.
        """
        self.over_budget = False
        for group in self._groups():
            chosen: dict[str, Request] = {}
            for request in group:
                key = request.key
                if key in self._closed or key in out or key in chosen or self._reuse(key):
                    continue
                if self._sent.get(key, 0) < self._tries and admits() and self._afford(request):
                    chosen[key] = request
            if chosen:
                yield list(chosen.values())

    def sent(self, keys: Iterable[str]) -> None:
        """Requests were handed in."""
        for key in keys:
            self._sent[key] = self._sent.get(key, 0) + 1

    def not_sent(self, keys: Iterable[str], *, again: bool = False) -> None:
        """Nothing of these was billed; `again`: their being sent does not count."""
        for key in keys:
            self._settle(key, 0.0)
            if again:
                self._sent.pop(key, None)

    def lost(self, keys: Iterable[str]) -> None:
        """Nobody says what became of these, so they are taken to be billed."""
        for key in keys:
            self._settle(key, None)

    def take(self, result: Result) -> None:
        """Count what a request brought."""
        key, reply = result.custom_id, result.reply
        self._job.tally.add(reply.usage, self._dollars(reply))
        worst = self._worst.get(key, 0.0)
        actual = self._tariff.actual(reply, worst) if self._tariff and result.billed else 0.0
        self._settle(key, actual)
        if not isinstance(reply, Failed):
            self._closed.add(key)
            self._job.tally.done += 1
        elif reply.kind is FailureKind.BAD_REQUEST or reply.stops_target:
            self._give_up(key)

    def give_up(self, out: Container[str], *, all_sent: bool) -> None:
        """Count as failed what was sent as often as it may be; `all_sent`: whatever was sent."""
        for key, times in self._sent.items():
            if key not in self._closed and key not in out and (all_sent or times >= self._tries):
                self._give_up(key)

    def _give_up(self, key: str) -> None:
        self._closed.add(key)
        self._job.tally.failed += 1

    def _reuse(self, key: str) -> bool:
        reply = self._job.store.reply(key)
        if reply is None:
            return False
        self._closed.add(key)
        if isinstance(reply, Failed):
            self._job.tally.failed += 1
        else:
            self._job.tally.reused += 1
        return True

    def _afford(self, request: Request) -> bool:
        purse = self._job.purse
        if purse is None or self._tariff is None:
            return True
        if self.over_budget:
            return False
        worst = self._tariff.worst(request)
        if purse.reserve(worst):
            self._worst[request.key] = worst
            return True
        if not purse.calls and not self._sent:
            raise too_small(purse.budget, worst)
        self.over_budget = True
        return False

    def _settle(self, key: str, actual: float | None) -> None:
        """Exchange what was set aside by what was billed; None: all of it."""
        worst = self._worst.pop(key, None)
        if worst is not None and self._job.purse is not None:
            self._job.purse.settle(worst, worst if actual is None else actual)

    def _dollars(self, reply: Reply) -> float | None:
        if self._model.free or (reply.usage is None and isinstance(reply, Failed)):
            return 0.0
        if self._price is None or reply.usage is None:
            return None
        dollars = self._price.cost(reply.usage)
        return None if dollars is None else dollars * self._share
