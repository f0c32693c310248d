"""What is in a store, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from contextecho.store import statements
from contextecho.store.imports import Release, releases
from contextecho.store.model import Ledger, RunInfo
from contextecho.store.store import Store


class RunSize(msgspec.Struct, frozen=True, kw_only=True):
    """A run, how much of it is settled, and what its own calls used."""

    run: str
    study: str
    created_at: str
    cells: int
    settled: int
    spend: Mapping[str, Ledger]  # by target


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """A store in numbers."""

    where: str
    kind: str
    schema: int
    bytes: int  # on disk
    runs: tuple[RunSize, ...]  # the one begun last first
    replies: Mapping[str, int]  # distinct requests by what came back
    waiting: int  # of these, to be asked again by the next run
    releases: tuple[Release, ...]  # imported, the one that came last first


def describe(store: Store) -> Contents:
    """Count what is in a store."""
    database = store.database
    sizes = {run: (cells, settled) for run, cells, settled in database.rows(statements.run_sizes)}
    replies: dict[str, int] = {}
    waiting = 0
    for outcome, settled, count in database.rows(statements.outcomes):
        replies[outcome] = replies.get(outcome, 0) + count
        waiting += 0 if settled else count
    return Contents(
        where=store.where,
        kind=database.kind,
        schema=database.version() or 0,
        bytes=database.size(),
        releases=releases(store),
        runs=tuple(_size(store, run, *sizes.get(run.id, (0, 0))) for run in store.runs()),
        replies=replies,
        waiting=waiting,
    )


def _size(store: Store, run: RunInfo, cells: int, settled: int) -> RunSize:
    return RunSize(
        run=run.id,
        study=run.study,
        created_at=run.created_at,
        cells=cells,
        settled=settled,
        spend=store.spend(run.id).by_target,
    )
