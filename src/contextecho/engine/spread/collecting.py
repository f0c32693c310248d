"""Collecting a plan on a cluster: groups are given out, lost ones again, results are added up.

The one thing to know: what is done is what the store holds. A group that was lost with its
machine is given out whole, and whoever gets it asks only what is not settled.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, zip_longest
from typing import Any

import msgspec

from contextecho.contexts import Request
from contextecho.engine.asking import Collection, Reason, collection_of
from contextecho.engine.budget import Purse, Tariff
from contextecho.engine.pace import DEFAULT_LIMITS, Limits
from contextecho.engine.progress import Progress, Quiet, Tally
from contextecho.engine.spread.ray_cluster import LostError, RayCluster, join_cluster
from contextecho.engine.spread.words import Group, Outcome, Terms
from contextecho.errors import IncompleteError
from contextecho.models import Model
from contextecho.store import RunInfo, Store
from contextecho.studies import Plan

MOST_LOSSES = 5  # of one group: more are the group's own doing
_SHOW_SECONDS = 0.5  # between two looks at the hub, at least


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a plan is collected, and how its workers reach store and targets."""

    on: str  # "ray" or "ray://HOST:PORT"
    store: str  # the URL of the database
    base_url: str | None
    key_env: str | None
    timeout: float  # seconds, of one call


async def collect_on(
    place: Place,
    plan: Plan,
    store: Store,
    run: RunInfo,
    models: Mapping[str, Model],
    *,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Collection:
    """Collect a plan as `collect` does, its prefix groups on the nodes of a cluster.

    Raises what `collect` raises, `ProviderError` when there is no cluster or a node cannot
    take part (then nothing was asked), and `IncompleteError` when a group is lost again and
    again.
    """
    unit = None
    if purse is not None:
        unit = purse.budget.unit
        for target in plan.targets:
            Tariff(models[target], unit)  # refuses what has no price
    token = f"{run.id}-{secrets.token_hex(8)}"
    terms = Terms(
        store=place.store,
        run=run.id,
        token=token,
        base_url=place.base_url,
        key_env=place.key_env,
        timeout=place.timeout,
        limits=limits,
        unit=unit,
    )
    with join_cluster(place.on) as cluster, store.collecting(run.id), store.lock(token):
        await asyncio.to_thread(cluster.refuse_unfit, terms, plan.targets)
        room = None if purse is None else purse.budget.limit - purse.spent
        seconds = None if limits.deadline is None else limits.deadline - time.monotonic()
        cluster.start_hub(_of_all(limits, cluster.slots()), room, seconds)
        spreading = _Spreading(plan, store, run, terms, cluster, progress or Quiet())
        try:
            await spreading.work()
        finally:
            await spreading.stop()
        if purse is not None:
            spent, begun = await cluster.spent()
            purse.spent += spent
            purse.calls += begun
    return spreading.result(models)


def _of_all(limits: Limits, workers: int) -> Limits:
    """Calls at once are bounded for each worker; what an account bears, its replies tell."""
    return msgspec.structs.replace(
        limits,
        concurrency=limits.concurrency * workers,
        most_concurrency=limits.most_concurrency * workers,
    )


@dataclass(slots=True)
class _Work:
    """A group that is being worked on."""

    group: Group
    worker: str
    task: Any  # Ray's reference


class _Spreading:
    """One collection on a cluster."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        run: RunInfo,
        terms: Terms,
        cluster: RayCluster,
        progress: Progress,
    ) -> None:
        self._store = store
        self._run = run
        self._terms = terms
        self._cluster = cluster
        self._progress = progress
        missing = store.missing_keys(run.id)
        self._ahead = _interleaved([groups_of(plan, target, missing) for target in plan.targets])
        self._again: deque[Group] = deque()  # lost ones
        self._losses: dict[tuple[str, str], int] = {}
        self._working: dict[asyncio.Task[Outcome], _Work] = {}
        self._names = count(1)
        self._up: set[str] = set()  # targets that have answered
        self._stopped: dict[str, str] = {}
        self._over_budget = False
        self._late = False
        self._said: set[str] = set()  # by lanes: each thing is shown once
        self._tally = Tally(total=store.count_requests(run.id))
        self._tally.failed = store.count_failed(run.id)
        self._tally.reused = self._tally.total - len(missing) - self._tally.failed

    async def work(self) -> None:
        """Give out groups until none is left, or no more may be asked."""
        showing = asyncio.create_task(self._show())
        try:
            while self._give_out():
                waiting = (showing, *self._working)
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if showing.done():
                    showing.result()  # it ends only by an error
                for ended in [waiting for waiting in self._working if waiting.done()]:
                    await self._ended(self._working.pop(ended), ended)
        finally:
            showing.cancel()

    async def stop(self) -> None:
        """End what is still at work, and show the end state."""
        for waiting in self._working:
            waiting.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        if self._working:
            await self._cluster.stop([work.task for work in self._working.values()])
        self._tally.ended = True
        self._progress.close(self._tally)

    def result(self, models: Mapping[str, Model]) -> Collection:
        """What was done, as a lone process tells it."""
        spend = self._store.spend(self._run.id)
        return collection_of(
            self._tally, spend, models, stopped=self._stopped, reason=self._reason()
        )

    def _reason(self) -> Reason:
        if self._over_budget:
            return Reason.BUDGET
        return Reason.DEADLINE if self._late else Reason.STOPPED

    # Giving out

    def _give_out(self) -> bool:
        """Let no node be idle, and have one more group ready for each; False: all is done."""
        room = 2 * self._cluster.slots() - len(self._working)
        while room > 0 and (group := self._next()) is not None:
            worker = f"w{next(self._names)}"
            is_up = group.target in self._up
            task = self._cluster.begin(self._terms, group, worker, is_up=is_up)
            waiting = asyncio.create_task(self._cluster.outcome(task))
            self._working[waiting] = _Work(group, worker, task)
            room -= 1
        return bool(self._working)

    def _next(self) -> Group | None:
        if self._over_budget or self._late:
            return None
        if self._again:
            return self._again.popleft()
        return next((group for group in self._ahead if group.target not in self._stopped), None)

    async def _ended(self, work: _Work, ended: asyncio.Task[Outcome]) -> None:
        try:
            outcome = ended.result()
        except LostError as loss:
            await self._lost(work, loss)
            return
        target = work.group.target
        self._tally.include(outcome.tally)
        if outcome.tally.done:
            self._up.add(target)
        if outcome.stopped:
            self._stopped.setdefault(target, outcome.stopped)
        self._over_budget |= outcome.over_budget
        self._late |= outcome.late

    async def _lost(self, work: _Work, loss: LostError) -> None:
        await self._cluster.lost(work.worker)
        group = work.group
        named = group.target, group.prefix
        self._losses[named] = self._losses.get(named, 0) + 1
        if self._losses[named] >= MOST_LOSSES:
            raise IncompleteError(
                f"the work on a prefix was lost {MOST_LOSSES} times, the last time: {loss}",
                where=f"{group.target}, prefix {group.prefix[:12]}",
                todo="see Ray's logs; the same command goes on from here",
            )
        self._progress.say(f"a worker was lost ({loss}); its prefix is taken up again")
        self._again.append(group)

    # Showing

    async def _show(self) -> None:
        """Show now and then how it goes; never ends by itself."""
        while True:
            await asyncio.sleep(max(self._progress.every, _SHOW_SECONDS))
            news = await self._cluster.news()
            for text in news.said:
                if text not in self._said:
                    self._said.add(text)
                    self._progress.say(text)
            shown = replace(self._tally)
            for work in self._working.values():
                if work.worker in news.tallies:
                    shown.include(news.tallies[work.worker])
            self._progress.show(shown)


def groups_of(plan: Plan, target: str, missing: set[bytes]) -> Iterator[Group]:
    """What is missing for a target, prefix by prefix; the same request twice is asked once."""
    for prefix, cells in plan.by_prefix(target):
        requests: dict[bytes, Request] = {}
        for request in map(plan.request, cells):
            key = bytes.fromhex(request.key)
            if key in missing:
                requests.setdefault(key, request)
        if requests:
            yield Group(target=target, prefix=prefix, requests=tuple(requests.values()))


def _interleaved(lists: list[Iterator[Group]]) -> Iterator[Group]:
    """One group of each target in turn, so that no account is idle."""
    for turn in zip_longest(*lists):
        yield from (group for group in turn if group is not None)
