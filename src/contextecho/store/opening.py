"""Opening a store: in which kind of database it is, and that it is up to date."""

from __future__ import annotations

from pathlib import Path

from contextecho.errors import ContextEchoError
from contextecho.store.databases import Database, NoStoreError
from contextecho.store.databases.postgres_address import (
    is_postgres,
    load_driver,
    refuse_password,
    shown,
)
from contextecho.store.databases.sqlite_files import open_file
from contextecho.store.migrations import check_current, migrate
from contextecho.store.store import Store


def open_store(place: Path | str, *, create: bool = True) -> Store:
    """Open the store at `place`.

    That is a directory (usually `.contextecho`), a `.sqlite` file, or the URL of a
    PostgreSQL database, `postgresql://user@host/database`, without a password.

    Use it in a `with` statement, which closes it. With `create`, what does not
    exist is made (a PostgreSQL database itself is not). Raises `UsageError` when
    there is no store, `DataError` when there is something else, or a newer one than
    this program knows. Without `create`, a store that may not be written is opened to be read.
    """
    if is_postgres(place):
        return Store(_open_postgres(str(place), create=create))
    return Store(
        open_file(Path(place), create=create, migrate=migrate, check_current=check_current)
    )


def find_store(place: Path | str) -> Store | None:
    """The store at `place`; None while there is none. Raises `DataError` as `open_store` does."""
    try:
        return open_store(place, create=False)
    except NoStoreError:
        return None


def _open_postgres(url: str, *, create: bool) -> Database:
    refuse_password(url)
    load_driver()
    from contextecho.store.databases.postgres import Postgres

    database = Postgres(url)
    try:
        if not create and database.version() == 0:
            raise NoStoreError(shown(url))
        migrate(database)
    except ContextEchoError:
        database.close()
        raise
    return database
