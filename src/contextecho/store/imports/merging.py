"""Bringing the releases of one store into another: those that are not there, each whole."""

from __future__ import annotations

from contextecho.store.databases import Database
from contextecho.store.imports import statements
from contextecho.store.imports.tables import IMPORTED, RELEASE


def merge_releases(into: Database, source: Database) -> int:
    """Inside a `write` of `into`; gives how many are new there."""
    new = 0
    for row in source.rows(statements.all_releases):
        if into.run(statements.keep(RELEASE), *row):
            new += 1
            for table in IMPORTED[1:]:
                rows = source.rows(statements.whole(table), row[0])
                into.run_many(statements.keep(table), rows)
    return new
