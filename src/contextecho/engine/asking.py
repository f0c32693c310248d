"""Asking models: every target at its own pace, every call in the ledger, none asked twice.

The one thing to know: judging is collecting. Cells of a plan and verdicts of a
judge are both requests in prefix groups, and this is the only machine that sends
them.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import msgspec

from contextecho.contexts import Request
from contextecho.engine.budget import Purse
from contextecho.engine.cost import price_spend
from contextecho.engine.lane import Job, Lane, OnReply
from contextecho.engine.pace import DEFAULT_LIMITS, Limits
from contextecho.engine.progress import Progress, Quiet, Tally
from contextecho.models import Model
from contextecho.store import Spend, Store

T = TypeVar("T")

_YOUNG = (
    10_000  # objects, more than the calls that are out hold: most are gone before the next look
)

Work = Mapping[str, Iterable[Iterable[Request]]]
"""For each target the requests to ask, each of them once, in groups that share a prefix."""


class Reason(StrEnum):
    """Why not everything was asked."""

    BUDGET = "budget"
    DEADLINE = "deadline"
    BATCHES = "batches"  # what is left is with the provider
    STOPPED = "stopped"  # every target with work left was given up


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """What one invocation did, in distinct requests: total = done + reused + failed + missing."""

    total: int
    done: int  # answered, refused or truncated now
    reused: int  # so before, found in the store
    failed: int  # asked and given up: without a reply to score
    missing: int  # not asked, or not to the end
    stopped_targets: Mapping[str, str]  # target -> why it was given up
    spend: Spend  # of the whole run, earlier invocations included
    dollars: float | None  # what `spend` costs; None where a price is not known
    reason: Reason | None  # None: everything was asked
    batches: int = 0  # that are with their provider still

    @property
    def complete(self) -> bool:
        """Whether every request has a reply."""
        return self.done + self.reused == self.total


async def ask_requests(
    work: Work,
    store: Store,
    run_id: str,
    models: Mapping[str, Model],
    *,
    total: int,
    doing: str = "asking",
    on_reply: OnReply | None = None,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Collection:
    """Ask everything in `work` that the store has no settled reply for.

    `total` is the number of distinct requests in `work`, which is read only as
    fast as it is asked; `doing` is what `progress` calls it. `on_reply(request, reply)` is
    called once for each request, with the reply that settles it (from the store or new) or
    its last failure.

    A `purse` can pay for several calls of this function; none without a bound.

    Raises `BudgetError` when the budget is too small for the first call, `UsageError` when
    it is in dollars and a price is not known, or when another process collects this run.
    A target that fails stops alone and is named in the result.
    """
    async with open_job(
        store,
        run_id,
        Tally(total=total, doing=doing),
        on_reply=on_reply,
        purse=purse,
        progress=progress,
        limits=limits,
    ) as job:
        lanes = {target: Lane(models[target], groups, job) for target, groups in work.items()}
        await together([lane.run() for lane in lanes.values()])
    return conclude(job, lanes, models)


@asynccontextmanager
async def open_job(
    store: Store,
    run_id: str,
    tally: Tally,
    *,
    on_reply: OnReply | None = None,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> AsyncIterator[Job]:
    """Hold a run and show how its collection goes, until the block is left."""
    progress = progress or Quiet()
    ticker = asyncio.create_task(_tick(progress, tally))
    try:
        with store.collecting(run_id):
            yield Job(
                store=store,
                run_id=run_id,
                limits=limits,
                purse=purse,
                tally=tally,
                progress=progress,
                on_reply=on_reply,
            )
    finally:
        ticker.cancel()
        tally.ended = True
        progress.close(tally)


class Ended(Protocol):
    """A lane that has ended, as its collection sees it."""

    stopped: str | None  # why its target was given up
    over_budget: bool
    late: bool

    @property
    def batches_out(self) -> int:
        """Batches that its provider has still."""
        ...


def conclude(job: Job, lanes: Mapping[str, Ended], models: Mapping[str, Model]) -> Collection:
    """What a job did, now that its lanes have ended."""
    return collection_of(
        job.tally,
        job.store.spend(job.run_id),
        models,
        stopped={t: lane.stopped for t, lane in lanes.items() if lane.stopped},
        reason=_reason(lanes.values()),
        batches=sum(lane.batches_out for lane in lanes.values()),
    )


def collection_of(
    tally: Tally,
    spend: Spend,
    models: Mapping[str, Model],
    *,
    stopped: Mapping[str, str],
    reason: Reason,
    batches: int = 0,
) -> Collection:
    """What was done, by its tally; `reason` is why something is left, if it is."""
    return Collection(
        total=tally.total,
        done=tally.done,
        reused=tally.reused,
        failed=tally.failed,
        missing=tally.total - tally.closed,
        stopped_targets=stopped,
        spend=spend,
        dollars=price_spend(spend, models),
        reason=reason if tally.closed < tally.total else None,
        batches=batches,
    )


def run_in_loop(work: Coroutine[Any, Any, T], models: Iterable[Model]) -> T:
    """Run the engine from ordinary code and close the models, whose connections the loop owns.

    On SIGINT the calls in flight are dropped, everything is closed, and
    `KeyboardInterrupt` is raised; what had come back is in the store.
    """

    async def run() -> T:
        async with AsyncExitStack() as stack:
            for model in models:
                stack.push_async_callback(model.close)
            return await work

    gc.freeze()  # what was made before the first call outlives the last: it is not looked at again
    usual = gc.get_threshold()
    gc.set_threshold(_YOUNG, *usual[1:])
    try:
        return asyncio.run(run())
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


async def together(coroutines: list[Coroutine[Any, Any, None]]) -> None:
    """Run all; the first error stops the others and is raised as it is."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tick(progress: Progress, tally: Tally) -> None:
    while True:
        await asyncio.sleep(progress.every)
        progress.show(tally)


def _reason(lanes: Iterable[Ended]) -> Reason:
    if any(lane.over_budget for lane in lanes):
        return Reason.BUDGET
    if any(lane.late for lane in lanes):
        return Reason.DEADLINE
    if any(lane.batches_out and not lane.stopped for lane in lanes):
        return Reason.BATCHES
    return Reason.STOPPED
