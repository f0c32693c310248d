"""Putting stores together: everything of each, nothing twice.

The one thing to know: an attempt is the same in two stores when its key, its run
and the moment it was begun are; everything else is named by its content. Where two
stores settled one key with different attempts, the one that ended first stands,
whatever the order of merging. The other stays in the ledger and is told of; verdicts
on it are left out, because a verdict is a reading of the reply that stands.
"""

from __future__ import annotations

import msgspec

from contextecho.store import rows, statements
from contextecho.store.databases import Database, Row
from contextecho.store.imports import merge_releases
from contextecho.store.store import Store
from contextecho.store.tables import (
    ATTEMPT,
    BATCH,
    BLOB,
    CELL,
    REPLY,
    REQUEST,
    RUN,
    VERDICT,
)

_BY_CONTENT = (
    (BLOB, statements.keep_blob),
    (RUN, statements.keep_run),
    (CELL, statements.keep_cell),
    (REQUEST, statements.keep_request),
)


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """What one store brought to another."""

    source: str
    runs: int  # new ones
    releases: int
    attempts: int
    replies: int  # keys that have a reply now, or a better one
    verdicts: int
    conflicts: tuple[str, ...]  # keys that both had settled, differently


def merge(into: Store, source: Store) -> Merged:
    """Bring everything of `source` into `into`, in one transaction; again, it brings nothing."""
    return into.database.write(lambda: _Merge(into.database, source.database).all())


class _Merge:
    def __init__(self, into: Database, source: Database) -> None:
        self._into = into
        self._source = source
        self._attempts: dict[int, int] = {}  # of the source -> of the other
        self._new = 0
        self._replies = 0
        self._conflicts: list[str] = []

    def all(self) -> Merged:
        """Everything, parents before children."""
        kept = {
            table.name: sum(
                self._into.run(keep, *row)
                for row in self._source.rows(statements.everything(table))
            )
            for table, keep in _BY_CONTENT
        }
        for row in self._source.rows(statements.everything(ATTEMPT)):
            self._attempt(row)
        for row in self._source.rows(statements.everything(REPLY)):
            self._reply(row)
        verdicts = sum(map(self._verdict, self._source.rows(statements.everything(VERDICT))))
        for row in self._source.rows(statements.everything(BATCH)):
            self._batch(row)
        return Merged(
            source=self._source.where,
            runs=kept[RUN.name],
            releases=merge_releases(self._into, self._source),
            attempts=self._new,
            replies=self._replies,
            verdicts=verdicts,
            conflicts=tuple(self._conflicts),
        )

    def _attempt(self, row: Row) -> None:
        number, key, run, begun_at, ended_at, *brought = row
        known = self._into.first(statements.begun_attempt, key, run, begun_at)
        if known is None:
            attempt = self._into.add(statements.begin_attempt, key, run, begun_at)
            self._new += 1
        else:
            attempt = known[0]
        self._attempts[number] = attempt
        if ended_at is not None:
            self._into.run(statements.end_open_attempt, ended_at, *brought, attempt)

    def _reply(self, row: Row) -> None:
        key, attempt, settled = row
        ours = self._attempts[attempt]
        there = self._into.first(statements.standing, key)
        if there is None:
            self._replies += 1
            self._into.run(statements.keep_reply, settled, ours)
            return
        stands, stands_settled, stands_ended = there
        if stands == ours:
            return
        ended = self._ended(ours)
        if settled and stands_settled:
            self._conflicts.append(key)
            better = ended < stands_ended
        else:
            better = bool(settled) or (not stands_settled and ended > stands_ended)
        if better:
            self._replies += 1
            self._into.run(statements.forget_verdicts, key)
            self._into.run(statements.replace_reply, ours, settled, key)

    def _ended(self, attempt: int) -> str:
        found = self._into.first(statements.ended, attempt)
        return str(found[0]) if found else ""

    def _verdict(self, row: Row) -> int:
        """Only a reading of the attempt that stands."""
        key = row[0]
        there = self._into.first(statements.standing, key)
        its = self._source.first(statements.standing, key)
        if there is None or its is None or there[0] != self._attempts[its[0]]:
            return 0
        return self._into.run(statements.add_verdict, *row)

    def _batch(self, row: Row) -> None:
        number, *columns = row
        told = dict(zip(rows.BATCH, columns, strict=True))
        known = self._into.first(
            statements.opened_batch, told["run"], told["provider"], told["opened_at"]
        )
        batch = known[0] if known else self._into.add(statements.keep_batch, *columns)
        if known and told["ended_at"] is not None:
            self._into.run(statements.end_batch, told["state"], told["ended_at"], batch)
        for custom_id, attempt, *_ in self._source.rows(statements.batch_items, number):
            item = (batch, custom_id, self._attempts[attempt])
            self._into.run(statements.keep_item, *item)
