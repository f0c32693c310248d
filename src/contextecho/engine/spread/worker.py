"""What a process on some machine does with a group: it asks, as a lone process would.

The one thing to know: a group is held by a lock in the store, which falls with its holder.
So a worker that was taken for lost and lives on is waited for, and no group is asked by two.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Protocol

import msgspec

from contextecho.engine.account import account_of
from contextecho.engine.budget import Budget, Tariff
from contextecho.engine.lane import Job, Lane
from contextecho.engine.progress import Tally
from contextecho.engine.sizes import Sizes
from contextecho.engine.spread.leases import LeasedPurse, Line, Shared
from contextecho.engine.spread.words import Group, Joining, Outcome, Terms
from contextecho.errors import ContextEchoError, UsageError
from contextecho.models import Model, open_model
from contextecho.store import LockedError, Store, open_store

PATIENCE = 90.0  # seconds for a worker that was taken for lost; its connection ends in 60
_LOOK = 0.25  # seconds between two looks whether it is gone


class Joined(Shared, Protocol):
    """The hub, for a worker."""

    def join(self, joining: Joining) -> Awaitable[float | None]:
        """As `Hub.join`."""
        ...


def problem_here(terms: Terms, targets: tuple[str, ...]) -> str | None:
    """Why a machine cannot take part; None when it can. Asks nobody."""
    try:
        with open_store(terms.store, create=False) as store:
            _refuse_orphans(store, terms)
        for target in targets:
            _open(target, terms)
    except ContextEchoError as error:
        return str(error)
    return None


async def ask_group(
    terms: Terms, group: Group, hub: Joined, worker: str, *, is_up: bool
) -> Outcome:
    """Ask what the store does not hold of a group.

    `is_up`: the target has answered a call of this invocation. Raises `DismissedError` when the
    hub has given the group to somebody else, and what a lone process raises.
    """
    with open_store(terms.store, create=False) as store:
        async with _held(store, terms, group), _open(group.target, terms) as model:
            return await work_off(terms, group, store, model, hub, worker, is_up=is_up)


async def work_off(
    terms: Terms,
    group: Group,
    store: Store,
    model: Model,
    hub: Joined,
    worker: str,
    *,
    is_up: bool,
) -> Outcome:
    """As `ask_group`, with what it opens."""
    first = group.requests[0]
    seconds = await hub.join(
        Joining(
            worker=worker,
            account=account_of(model),
            most=model.max_concurrency,
            cached_count=model.cached_count,
            weight=Sizes().weigh(first),
        )
    )
    tally = Tally(total=len(group.requests))
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    limits = msgspec.structs.replace(terms.limits, deadline=deadline)
    line = Line(hub, worker, limits, tally)
    if terms.unit is not None:
        budget = Budget(float("inf"), terms.unit)
        line.purse = LeasedPurse(budget, Tariff(model, terms.unit).worst(first), line)
    job = Job(
        store=store,
        run_id=terms.run,
        limits=limits,
        purse=line.purse,
        tally=tally,
        progress=line.progress,
        on_reply=None,
        accounts={account_of(model): line.account},
    )
    lane = Lane(model, [group.requests], job, is_up=is_up)
    await _while_talking(lane, line)
    await line.leave()
    return Outcome(tally=tally, stopped=lane.stopped, over_budget=lane.over_budget, late=lane.late)


def _open(target: str, terms: Terms) -> Model:
    return open_model(target, base_url=terms.base_url, key_env=terms.key_env, timeout=terms.timeout)


def _refuse_orphans(store: Store, terms: Terms) -> None:
    """Work whose command is gone is not done: another command may be doing it."""
    if not store.is_locked(terms.token):
        raise UsageError(
            "the command that gave this work holds no lock in this store",
            where=store.where,
            todo="let it and every node name the same database",
        )


@asynccontextmanager
async def _held(store: Store, terms: Terms, group: Group) -> AsyncIterator[None]:
    """Hold a group, once nobody else does."""
    part = hashlib.sha256(f"{group.target} {group.prefix}".encode()).hexdigest()[:16]
    name = f"{terms.run}-{part}"
    ends_at = time.monotonic() + PATIENCE
    with ExitStack() as held:
        while not _take(held, store, name):
            if time.monotonic() > ends_at:
                raise UsageError(
                    f"another process still asks a part of run {terms.run}",
                    where=store.where,
                    todo="give the same command again when it has ended; nothing is lost",
                )
            await asyncio.sleep(_LOOK)
        _refuse_orphans(store, terms)
        yield


def _take(held: ExitStack, store: Store, name: str) -> bool:
    with suppress(LockedError):
        held.enter_context(store.lock(name))
        return True
    return False


async def _while_talking(lane: Lane, line: Line) -> None:
    """Run a lane to its end; a line that breaks ends it."""
    work, talk = asyncio.create_task(lane.run()), asyncio.create_task(line.hold())
    try:
        await asyncio.wait({work, talk}, return_when=asyncio.FIRST_COMPLETED)
        if talk.done():
            talk.result()
        work.result()
    finally:
        for task in (work, talk):
            task.cancel()
        await asyncio.gather(work, talk, return_exceptions=True)
