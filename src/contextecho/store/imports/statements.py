"""Every statement about imported releases; what holds for `store.statements` holds here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sqlalchemy import ClauseElement, TableClause, bindparam, func, select

from contextecho.store.databases import InsertInto, Statement
from contextecho.store.imports.tables import (
    FINDING,
    FINDING_COLUMNS,
    IMPORTED_CELL,
    IMPORTED_VERDICT,
    RELEASE,
    RELEASE_COLUMNS,
)


@cache
def keep(table: TableClause) -> Statement:
    """All columns of a row, where there is none yet."""

    def kept(insert: InsertInto) -> ClauseElement:
        new: ClauseElement = insert(table).on_conflict_do_nothing()
        return new

    return kept


def all_releases(_: InsertInto) -> ClauseElement:
    """Every release, the one imported last first: columns `RELEASE_COLUMNS`."""
    columns = (RELEASE.c[name] for name in RELEASE_COLUMNS)
    return select(*columns).order_by(RELEASE.c.imported_at.desc(), RELEASE.c.id)


@cache
def cells(names: tuple[str, ...]) -> Statement:
    """Some columns of the cells of a release, in order."""

    def chosen(_: InsertInto) -> ClauseElement:
        return _in_order(IMPORTED_CELL, names)

    return chosen


@cache
def verdicts(names: tuple[str, ...]) -> Statement:
    """The cell and some columns of each verdict of a release, in order of the cells."""

    def chosen(_: InsertInto) -> ClauseElement:
        columns = [IMPORTED_VERDICT.c[name] for name in ("cell", *names)]
        order = IMPORTED_VERDICT.c.cell, IMPORTED_VERDICT.c.scorer
        release = IMPORTED_VERDICT.c.release == bindparam("release")
        return select(*columns).where(release).order_by(*order)

    return chosen


def findings(_: InsertInto) -> ClauseElement:
    """The findings of a release, in order: columns `FINDING_COLUMNS`."""
    return _in_order(FINDING, FINDING_COLUMNS)


@cache
def whole(table: TableClause) -> Statement:
    """All columns of the rows of a release, in no order."""

    def chosen(_: InsertInto) -> ClauseElement:
        return select(*table.c).where(table.c.release == bindparam("release"))

    return chosen


def _in_order(table: TableClause, names: Iterable[str]) -> ClauseElement:
    columns = [table.c[name] for name in names]
    release = table.c.release == bindparam("release")
    return select(*columns).where(release).order_by(table.c.ordinal)


def cell_counts(_: InsertInto) -> ClauseElement:
    """How many cells each release has."""
    return select(IMPORTED_CELL.c.release, func.count()).group_by(IMPORTED_CELL.c.release)
