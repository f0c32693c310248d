"""Collecting a plan: its cells become requests, its prefixes become groups.

The one thing to know: the same command continues. A run is found again by its
plan, a reply by its request; what is settled is not asked again, by this study
or by another one that asks the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from contextecho.contexts import Message, Request
from contextecho.counting import counted
from contextecho.engine.asking import Collection, Work, ask_requests
from contextecho.engine.budget import Purse
from contextecho.engine.pace import DEFAULT_LIMITS, Limits
from contextecho.engine.progress import Progress
from contextecho.errors import UsageError
from contextecho.models import Model
from contextecho.store import RunInfo, Store
from contextecho.studies import Plan


async def collect(
    plan: Plan,
    store: Store,
    run: RunInfo,
    models: Mapping[str, Model],
    *,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Collection:
    """Ask every cell of `plan` that `store` has no settled reply for, as part of `run`.

    `models` has one open model for each target of the plan. Raises as `ask_requests` does,
    and `UsageError` when batches of the run are out: it would be paid for twice.
    """
    if out := store.batches.out(run.id):
        raise UsageError(
            f"run {run.id} has {counted(out, 'batch')} with its provider",
            where=store.where,
            todo="the same command with --batch collects what they bring",
        )
    return await ask_requests(
        plan_work(plan),
        store,
        run.id,
        models,
        total=store.count_requests(run.id),
        purse=purse,
        progress=progress,
        limits=limits,
    )


def plan_work(plan: Plan) -> Work:
    """The requests of a plan, made one by one as they are asked."""
    return {target: plan_groups(plan, target) for target in plan.targets}


def plan_groups(plan: Plan, target: str) -> Iterator[Iterator[Request]]:
    """The requests of a plan to one target, prefix by prefix, each of them once."""
    for _, cells in plan.by_prefix(target):
        yield _distinct(map(plan.request, cells))


def _distinct(requests: Iterable[Request]) -> Iterator[Request]:
    """Each request once: those of one prefix differ in what they ask and in their sample."""
    seen: dict[tuple[Message, ...], int] = {}  # a bit for each sample: a group can be long
    for request in requests:
        samples = seen.get(request.ask, 0)
        if not samples >> request.sample & 1:
            seen[request.ask] = samples | 1 << request.sample
            yield request
