"""Asking what a plan asks, and judging it: the only calls that send anything."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from contextecho import __version__, scoring  # by the door: numpy is loaded when replies are scored
from contextecho.api.planning import too_long
from contextecho.api.reaching import (
    DIRECT,
    Reach,
    open_services,
    open_target,
    place_of,
    reach_of_judge,
    refuse_self_judging,
)
from contextecho.defaults import STORE, store_place
from contextecho.engine import (
    DEFAULT_LIMITS,
    Budget,
    Collection,
    Limits,
    Place,
    Progress,
    Purse,
    collect_in_batches,
    collect_on,
    run_in_loop,
)
from contextecho.engine import collect as collect_plan
from contextecho.errors import UsageError
from contextecho.models import BatchService, Model
from contextecho.store import RunInfo, Store, open_store
from contextecho.studies import Plan


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a store, and what this call did for it."""

    store: Path | str
    info: RunInfo
    collection: Collection
    judging: scoring.Judging | None = None

    @property
    def judge(self) -> str | None:
        """The judge of this call, if any of its verdicts is in the store."""
        judging = self.judging
        return judging.judge if judging and judging.judged + judging.invalid else None


def collect(
    plan: Plan,
    *,
    store: str | Path = STORE,
    on: str | None = None,
    prereg: str | Path | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **terms: Any,
) -> Run:
    """Ask everything in `plan` that the store does not hold yet, then judge it.

    What was collected stays, whatever ends this. `on` is a Ray cluster, "ray" or
    "ray://HOST:PORT", whose nodes ask the targets; the store is a PostgreSQL database then.
    `prereg` is the file of a pre-registration (`contextecho prereg lock`): what differs from it
    is refused, and the run keeps its hash.
    `terms` (judge, budget, reach, ...) and what is raised for them: see `prepare`; and
    `BudgetError` when the budget does not allow the first call.
    """
    if prereg is not None:
        plan = keep_to(prereg, [plan], terms.get("judge"))[0]
    how = {"reach": terms.get("reach", DIRECT), "batch": terms.get("batch", False)}
    place = None if on is None else place_of(on, plan, store, **how)
    if place is not None and (own := terms.get("models", {}).keys() & set(plan.targets)):
        raise UsageError(f"an open model cannot go to other machines: {', '.join(own)}", where="on")
    with prepare(plan, **terms) as prepared:
        return prepared.collect(store, place=place, progress=progress, limits=limits)


def keep_to(prereg: str | Path, plans: Sequence[Plan], judge: str | None) -> tuple[Plan, ...]:
    """The plans, registered under the lock in a file. Raises `UsageError` for what differs."""
    return scoring.keep_to(Path(prereg), plans, [judge] if judge else [], versions())


@contextmanager
def prepare(
    plan: Plan,
    *,
    judge: str | None = None,
    budget: str | Purse | None = None,
    reach: Reach = DIRECT,
    judge_reach: Reach | None = None,
    allow_self_judging: bool = False,
    models: Mapping[str, Model] | None = None,
    batch: bool = False,
    wait: bool = True,
) -> Iterator[Prepared]:
    """Open all that `plan` needs, and refuse what needs no call to be refused. Sends nothing.

    `budget` ("5usd", "2Mtok", or a purse that several plans share) covers targets and judge.
    `reach` is for the targets, `judge_reach` for the judge (default: `reach` when it is of the
    same provider); `models` are open models of your own, by the name of the target or judge that
    each stands for.

    With `batch`, targets are asked through their providers' batch APIs, and the judge live once
    all has come back; without `wait`, what is not back yet is left with the provider, and the
    same call goes on another time.

    Raises `UsageError` (also for a judge that is one of the targets) and `ProviderError`
    without a key.
    """
    purse = Purse(Budget.parse(budget)) if isinstance(budget, str) else budget
    refuse_self_judging(plan, judge, allowed=allow_self_judging)
    for problem in too_long(plan):
        raise UsageError(problem, todo="lower --context (budget_tokens) or --max-output")
    own = models or {}
    with ExitStack() as recordings:
        opened = {t: own.get(t) or open_target(t, plan, reach, recordings) for t in plan.targets}
        reader = None if judge is None else own.get(judge)
        if judge is not None and reader is None:
            its_reach = judge_reach or reach_of_judge(judge, plan, reach)
            reader = open_target(judge, plan, its_reach, recordings)
        yield Prepared(
            plan,
            opened,
            reader,
            purse,
            allow_self_judging=allow_self_judging,
            services=open_services(opened) if batch else None,
            wait=wait,
        )


class Prepared:
    """A plan, and the open models that it will be asked of."""

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, Model],
        judge: Model | None,
        purse: Purse | None,
        *,
        allow_self_judging: bool,
        services: Mapping[str, BatchService] | None,
        wait: bool,
    ) -> None:
        """`models` has one for each target of the plan; `purse` pays for all of it.

        With `services`, one for each target as well, they are asked in batches.
        """
        self._plan = plan
        self._models = models
        self._judge = judge
        self._purse = purse
        self._allow_self_judging = allow_self_judging
        self._services = services
        self._wait = wait

    def collect(
        self,
        store: str | Path,
        *,
        place: Place | None = None,
        progress: Progress | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Run:
        """Ask, then judge; closes the models. Raises `KeyboardInterrupt` on SIGINT.

        With a `place` (`place_of`) its nodes ask the targets, and the judge is asked from here.
        """
        how = {"purse": self._purse, "progress": progress, "limits": limits}
        with open_store(store) as opened:
            info = opened.begin_run(self._plan, self._plan.session_path, versions())
            scoring.refuse_unregistered(opened, info, self._plan.registered)
            work = self._work(opened, info, place, **how)
            models = [*self._models.values(), *([self._judge] if self._judge else [])]
            collection, judging = run_in_loop(work, models)
        return Run(store=store_place(store), info=info, collection=collection, judging=judging)

    def _way(self, place: Place | None) -> Callable[..., Awaitable[Collection]]:
        """How targets are asked: from the nodes of a cluster, in batches, or live from here."""
        if place is not None:
            return partial(collect_on, place)
        if self._services is not None:
            return partial(collect_in_batches, services=self._services, wait=self._wait)
        return collect_plan

    async def _work(
        self, store: Store, info: RunInfo, place: Place | None, **how: Any
    ) -> tuple[Collection, scoring.Judging | None]:
        collect = self._way(place)
        collection = await collect(self._plan, store, info, self._models, **how)
        if self._judge is None or collection.reason is not None:
            return collection, None
        judging = await scoring.judge_run(
            store, info, self._judge, allow_self=self._allow_self_judging, **how
        )
        return collection, judging


def versions() -> dict[str, str]:
    """What a run is collected with, for its provenance."""
    libraries = ("aiohttp", "msgspec", "numpy", "scipy")
    return {
        "contextecho": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }
