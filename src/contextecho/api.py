"""The Python face: plan, collect, report. The command line calls the same functions.

    session = read_session("session.jsonl")
    cells = plan(session, target="openai/gpt-4.1", positions="compactions")
    run = collect(cells, judge="anthropic/claude-sonnet-4-6", budget="5usd")
    report(run, "report.html")

The one thing to know: `plan` sends nothing, `collect` is the only call that does,
and calling it again with the same plan continues the same run.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from contextecho import __version__, scoring  # by the door: numpy is loaded when replies are scored
from contextecho.contexts import EstimateCounter, Rendering, TokenCounter
from contextecho.defaults import STORE, TIMEOUT
from contextecho.engine import (
    DEFAULT_LIMITS,
    Budget,
    Collection,
    Limits,
    Progress,
    Purse,
    run_collection,
)
from contextecho.errors import UsageError
from contextecho.models import (
    Model,
    answers_here,
    find_provider,
    open_local_counter,
    open_model,
    same_model,
    serving_of,
)
from contextecho.reports import write_report
from contextecho.sessions import Session
from contextecho.store import RunInfo, open_store
from contextecho.studies import Plan, load_study, make_plan


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is reached when not at its provider's own address with its own key."""

    base_url: str | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = {}
    timeout: float = TIMEOUT  # seconds, of one call


DIRECT = Reach()


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a store, and what this call did for it."""

    store: Path
    info: RunInfo
    collection: Collection
    judging: scoring.Judging | None = None


def plan(
    session: Session, *, target: str | Sequence[str], study: str = "trajectory", **choices: Any
) -> Plan:
    """Say which cells `study` collects on `session` for the targets. Sends nothing.

    `study` is a catalog id or the path of a TOML file; `choices` replace what it
    says: positions, arms, batteries, paraphrases, replicates, protocol, rendering,
    budget_tokens, anchor, placement, system, padding, max_output_tokens
    (`studies.make_plan`). Raises `UsageError`, `SessionError` or `DataError`.
    """
    targets = [target] if isinstance(target, str) else list(target)
    if choices.get("rendering") is None and choices.get("protocol") != "published":
        choices["rendering"] = rendering_for(targets)
    return make_plan(
        load_study(study),
        session,
        targets,
        counter=counter_for(targets),
        serving={target: how for target in targets if (how := serving_of(target))},
        **choices,
    )


def rendering_for(targets: Sequence[str]) -> str | None:
    """Tool traffic as text where a target's chat template has no tools; else the protocol's."""
    with_tools = all(find_provider(target).tools for target in targets)
    return None if with_tools else Rendering.NATIVE_TEXT


def counter_for(targets: Sequence[str]) -> TokenCounter:
    """The tokenizer that fits: a local model's own where there is one, else the estimate."""
    for target in targets:
        if target.partition("/")[0] == "local":
            return open_local_counter(target)
    return EstimateCounter()


def collect(
    plan: Plan,
    *,
    judge: str | None = None,
    budget: str | None = None,
    store: str | Path = STORE,
    reach: Reach = DIRECT,
    judge_reach: Reach | None = None,
    allow_self_judging: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Run:
    """Ask everything in `plan` that the store does not hold yet, then judge it.

    `budget` ("5usd", "2Mtok") covers both; what was collected stays when it ends.
    `reach` is for the targets, `judge_reach` for the judge (default: `reach` when
    it is of the same provider). Raises `UsageError` (also for a judge that is one
    of the targets), `ProviderError` without a key, and `BudgetError` when the
    budget does not allow the first call.
    """
    purse = Purse(Budget.parse(budget)) if budget else None
    _refuse_self_judging(plan, judge, allowed=allow_self_judging)
    models = {target: _open(target, plan, reach) for target in plan.targets}
    reader = _open_judge(judge, plan, judge_reach or _reach_of(judge, plan, reach))
    with open_store(store) as opened:
        info = opened.begin_run(plan, plan.session_path, versions())
        collection = run_collection(
            plan, opened, info, models, purse=purse, progress=progress, limits=limits
        )
        judging = None
        if reader is not None and collection.reason is None:
            judging = scoring.run_judging(
                opened,
                info,
                reader,
                allow_self=allow_self_judging,
                purse=purse,
                progress=progress,
                limits=limits,
            )
    return Run(store=Path(store), info=info, collection=collection, judging=judging)


def report(run: Run, path: str | Path, *, judge: str | None = None) -> scoring.RunAnalysis:
    """Analyse a run and write its report; the file's ending says html, md, json or csv."""
    with open_store(run.store, create=False) as store:
        analysis = scoring.analyse_run(store, store.find_run(run.info.id), judge=judge)
    write_report(analysis, Path(path))
    return analysis


def versions() -> dict[str, str]:
    """What a run is collected with, for its provenance."""
    libraries = ("aiohttp", "msgspec", "numpy", "scipy")
    return {
        "contextecho": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }


def _open(target: str, plan: Plan, reach: Reach) -> Model:
    if answers_here(target):
        return open_model(target, simulated=plan, timeout=reach.timeout)
    return open_model(
        target,
        base_url=reach.base_url,
        key_env=reach.key_env,
        headers=reach.headers,
        timeout=reach.timeout,
    )


def _open_judge(judge: str | None, plan: Plan, reach: Reach) -> Model | None:
    return _open(judge, plan, reach) if judge else None


def _reach_of(judge: str | None, plan: Plan, reach: Reach) -> Reach:
    """The targets' own way for a judge of the same provider; else straight to its provider."""
    providers = {target.partition("/")[0] for target in plan.targets}
    return reach if judge and judge.partition("/")[0] in providers else DIRECT


def _refuse_self_judging(plan: Plan, judge: str | None, *, allowed: bool) -> None:
    """Before anything is spent: the judge may not be a target under another name."""
    own = [target for target in plan.targets if judge and same_model(target, judge)]
    if own and not allowed:
        raise UsageError(
            f"{', '.join(own)} would judge itself",
            where="--judge",
            todo="name another judge, or --allow-self-judging, which the report then marks",
        )
