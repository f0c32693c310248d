"""Which runs of a store keep to a pre-registration, and whether they came after it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from contextecho.scoring.prereg import frozen_parts, reading
from contextecho.scoring.registration import registration_of
from contextecho.scoring.verdicts import judge_sets
from contextecho.store import ReplyTimes, RunInfo, Store
from contextecho.studies import Frozen, Lock, Parts, differences


class Timing(StrEnum):
    """When a run was collected, seen from a lock."""

    AFTER = "after"
    BEFORE = "before"
    PARTLY = "partly before"
    OUTSIDE = "outside"  # it does not keep to the lock, whenever it was
    EMPTY = "no reply"


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """One run beside the lock of a chain that it is compared with."""

    run: str
    study: str
    session: str
    lock: str  # SHA-256: the one it was begun under, else the newest that it keeps to
    begun_under: bool  # whether the run itself names that lock
    timing: Timing
    times: ReplyTimes
    differences: tuple[str, ...]


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """A chain of locks beside a store."""

    locks: tuple[str, ...]  # SHA-256, the first one first
    runs: tuple[Verified, ...]  # all of the store
    uncollected: tuple[str, ...]  # what the newest lock holds and no run has after it


def verify(store: Store, chain: Sequence[Lock]) -> Verification:
    """Compare every run of a store with a chain of locks (`studies.read_chain`)."""
    runs = [(run, _parts(store, run)) for run in store.runs()]
    verified = tuple(_verified(store, chain, run, parts) for run, parts in runs)
    after = [
        parts
        for (_, parts), beside in zip(runs, verified, strict=True)
        if beside.timing is Timing.AFTER
    ]
    return Verification(
        locks=tuple(lock.sha256 for lock in chain),
        runs=verified,
        uncollected=tuple(
            f"{name}: {entry}"
            for name in ("positions", "targets")
            for entry, value in chain[-1].parts[name].items()
            if not any(parts[name].get(entry) == value for parts in after)
        ),
    )


def _parts(store: Store, run: RunInfo) -> Parts:
    sets = judge_sets(store.verdicts(run.id))
    judges = {reading(s.judge, s.version): s.version for s in sets}
    return frozen_parts([run.read_plan(Frozen)], judges, run.versions)


def _verified(store: Store, chain: Sequence[Lock], run: RunInfo, parts: Parts) -> Verified:
    registered = registration_of(store, run).registered
    named = next((lock for lock in chain if registered and lock.sha256 == registered.lock), None)
    keeping = (lock for lock in reversed(chain) if not differences(lock, parts))
    lock = named or next(keeping, chain[-1])
    times = store.reply_times(run.id, lock.locked_at)
    found = differences(lock, parts)
    return Verified(
        run=run.id,
        study=run.study,
        session=run.session,
        lock=lock.sha256,
        begun_under=named is not None,
        timing=Timing.OUTSIDE if found else _timing(times),
        times=times,
        differences=found,
    )


def _timing(times: ReplyTimes) -> Timing:
    if not times.replies:
        return Timing.EMPTY
    if times.earlier == times.replies:
        return Timing.BEFORE
    return Timing.PARTLY if times.earlier else Timing.AFTER
