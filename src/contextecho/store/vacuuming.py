"""Removing what nothing refers to, and giving the space back."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from contextecho.store import statements
from contextecho.store.store import Store


class Loose(msgspec.Struct, frozen=True, kw_only=True):
    """A context that no cell, request or plan refers to."""

    sha256: str
    bytes: int  # as it is kept, compressed


def loose_contexts(store: Store) -> tuple[Loose, ...]:
    """The contexts that can go, by hash."""
    return tuple(_loose(store))


def vacuum(store: Store) -> tuple[Loose, ...]:
    """Remove the contexts that can go, in one transaction, and compact what is left."""
    database = store.database

    def remove() -> tuple[Loose, ...]:
        database.alone()
        found = loose_contexts(store)
        for context in found:
            database.run(statements.drop_blob, context.sha256)
        return found

    removed = database.write(remove)
    database.compact()
    return removed


def _loose(store: Store) -> Iterator[Loose]:
    planned = {sha256 for run in store.runs() for sha256 in _of_plan(run.plan)}
    for sha256, size in store.database.rows(statements.loose_blobs):
        if sha256 not in planned:
            yield Loose(sha256=sha256, bytes=size)


def _of_plan(plan: object) -> Iterator[str]:
    """The contexts that a plan names: those of its cells and of its snapshots."""
    read = msgspec.convert(plan, _Contexts)
    yield from read.contexts
    yield from (snapshot.context for snapshot in read.snapshots)


class _Snapshot(msgspec.Struct):
    context: str


class _Contexts(msgspec.Struct):
    contexts: tuple[str, ...]
    snapshots: tuple[_Snapshot, ...]
