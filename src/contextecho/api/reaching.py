"""Who is asked, and by which way: addresses, keys, recordings, batch APIs, clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from contextecho.defaults import TIMEOUT
from contextecho.engine import Place, check_place
from contextecho.errors import UsageError
from contextecho.models import (
    BatchService,
    Model,
    answers_here,
    batch_providers,
    find_provider,
    open_batches,
    open_model,
    same_model,
)
from contextecho.store import open_store
from contextecho.studies import Plan


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is reached when not at its provider's own address with its own key."""

    base_url: str | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = {}
    timeout: float = TIMEOUT  # seconds, of one call
    replay: Path | str | None = None  # a store whose replies stand for the model's: nobody is asked


DIRECT = Reach()


def place_of(on: str, plan: Plan, store: str | Path, reach: Reach, *, batch: bool = False) -> Place:
    """The cluster `on` which a plan is collected. Raises `UsageError` for what cannot be spread."""
    check_place(on)
    if batch:
        problem = "batches are handed in from one machine"
        raise UsageError(problem, where="--on", todo="leave out --batch or --on")
    here = [target for target in plan.targets if answers_here(target)]
    if "://" not in str(store):
        problem = "several machines cannot write a file: the store must be a PostgreSQL database"
        raise UsageError(problem, where="--on", todo="--store postgresql://USER@HOST/DATABASE")
    if reach.replay is not None or here:
        what = ", ".join(here) or "a recording"
        raise UsageError(
            f"{what} answers on this machine: there is nothing to spread", where="--on"
        )
    if reach.headers or "@" in urlsplit(reach.base_url or "").netloc:
        problem = "what goes to the nodes can be read by all who see the cluster"
        todo = "leave out --header, and any password in --base-url"
        raise UsageError(problem, where="--on", todo=todo)
    return Place(
        on=on,
        store=str(store),
        base_url=reach.base_url,
        key_env=reach.key_env,
        timeout=reach.timeout,
    )


def open_target(target: str, plan: Plan, reach: Reach, recordings: ExitStack) -> Model:
    """The model that answers for a target of the plan, or judges; a replay is held open."""
    if reach.replay is not None:
        recording = recordings.enter_context(open_store(reach.replay, create=False))
        return open_model(target, lookup=recording.reply)
    if answers_here(target):
        return open_model(target, simulated=plan, timeout=reach.timeout)
    return open_model(
        target,
        base_url=reach.base_url,
        key_env=reach.key_env,
        headers=reach.headers,
        timeout=reach.timeout,
    )


def refuse_without_batches(targets: Sequence[str]) -> None:
    """Targets whose provider has no batch API cannot be asked in batches. Raises `UsageError`."""
    if without := [target for target in targets if find_provider(target).batch is None]:
        raise _without_batches(without)


def _without_batches(targets: Sequence[str]) -> UsageError:
    return UsageError(
        f"{', '.join(targets)} cannot be asked in batches",
        where="--batch",
        todo=f"these providers can: {', '.join(batch_providers())}; ask the others without it",
    )


def open_services(models: Mapping[str, Model]) -> dict[str, BatchService]:
    """The batch API of each target. Raises `UsageError`, also for a replay and own models."""
    found = {
        target: service for target, model in models.items() if (service := open_batches(model))
    }
    if without := [target for target in models if target not in found]:
        raise _without_batches(without)
    return found


def reach_of_judge(judge: str | None, plan: Plan, reach: Reach) -> Reach:
    """The targets' own way for a replay or a judge of the same provider; else straight there."""
    providers = {target.partition("/")[0] for target in plan.targets}
    same = judge is not None and judge.partition("/")[0] in providers
    return reach if same or reach.replay else DIRECT


def refuse_self_judging(plan: Plan, judge: str | None, *, allowed: bool) -> None:
    """The judge may not be a target under another name. Raises `UsageError`; asks nothing."""
    own = [target for target in plan.targets if judge and same_model(target, judge)]
    if own and not allowed:
        raise UsageError(
            f"{', '.join(own)} would judge itself",
            where="--judge",
            todo="name another judge, or --allow-self-judging, which the report then marks",
        )
