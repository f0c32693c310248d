"""Collecting a plan in batches: the same requests as live ones, into the same run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from contextecho.engine.asking import Collection, conclude, open_job, together
from contextecho.engine.batches.lane import BatchLane
from contextecho.engine.batches.pace import DEFAULT_PACE, BatchPace
from contextecho.engine.budget import Purse
from contextecho.engine.collect import plan_groups
from contextecho.engine.pace import DEFAULT_LIMITS, Limits
from contextecho.engine.progress import Progress, Quiet, Tally
from contextecho.models import BatchService, Model
from contextecho.store import RunInfo, Store
from contextecho.studies import Plan


async def collect_in_batches(
    plan: Plan,
    store: Store,
    run: RunInfo,
    models: Mapping[str, Model],
    services: Mapping[str, BatchService],
    *,
    wait: bool = True,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    pace: BatchPace = DEFAULT_PACE,
) -> Collection:
    """As `collect`, through the batch API of each target; `services` has one for each.

    With `wait`, until everything has come back or been given up; what came back without an
    answer is sent once more in another batch. Without, batches that have ended are read, what
    is missing is handed in, and the rest is left with the provider: the reason is `BATCHES`.
    """
    progress = progress or Quiet()
    tally = Tally(total=store.count_requests(run.id), doing="asking in batches")
    async with open_job(store, run.id, tally, purse=purse, progress=progress, limits=limits) as job:
        lanes = {
            target: BatchLane(
                models[target],
                services[target],
                partial(plan_groups, plan, target),
                job,
                pace=pace,
                wait=wait,
            )
            for target in plan.targets
        }
        try:
            await together([lane.run() for lane in lanes.values()])
        except asyncio.CancelledError:
            if out := sum(lane.batches_out for lane in lanes.values()):
                progress.say(f"batches that stay with their provider: {out}")
            raise
    return conclude(job, lanes, models)
