"""How a database becomes a store, and an older store a current one.

The one thing to know: a migration is a small function that is never edited once
released. They are numbered by their place in `MIGRATIONS`; a store holds the
number of the last one that it has seen. docs/store.md shows the tables that all
of them together make in SQLite, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable

from contextecho.errors import DataError
from contextecho.store.databases import Database
from contextecho.store.migrations.batches import batches
from contextecho.store.migrations.first_tables import first_tables
from contextecho.store.migrations.imports import imports
from contextecho.store.migrations.whole_requests import whole_requests

MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    first_tables,
    batches,
    whole_requests,
    imports,
)


def migrate(database: Database) -> None:
    """Bring an open database to the current schema, in one transaction.

    Processes that open it at once wait for each other, and the second finds the work done.
    Raises `DataError` when the database belongs to another program or to a newer version of
    this one.
    """
    if _known(database) == len(MIGRATIONS):
        return

    def catch_up() -> None:
        database.alone()
        version = _known(database)
        for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
            migration(database)
            database.set_version(number)

    database.write(catch_up)


def check_current(database: Database) -> None:
    """Raise `DataError` unless a database that cannot be written has the current schema."""
    if _known(database) < len(MIGRATIONS):
        raise DataError(
            "the store is read-only and must first be brought up to date",
            where=database.where,
            todo="copy it to a place that can be written",
        )


def _known(database: Database) -> int:
    """The schema's number, if this program knows it. 0: nothing is there yet."""
    version = database.version()
    if version is None:
        raise DataError(
            f"this {database.kind} is not a contextecho store",
            where=database.where,
            todo=f"name another --store, or {database.make_one}",
        )
    if version > len(MIGRATIONS):
        raise DataError(
            f"the store has schema {version}, this contextecho knows up to {len(MIGRATIONS)}",
            where=database.where,
            todo="upgrade contextecho",
        )
    return version
