"""Opening a SQLite file as a store: to write where that may be, else to read.

The one thing to know: a store holds private session text, so a new directory is
readable by its owner only and carries a `.gitignore` that keeps it out of git.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from contextecho.errors import DataError
from contextecho.store.databases.database import Database, NoStoreError
from contextecho.store.databases.sqlite import COPY_IT, SQLite, code

FILE_NAME = "store.sqlite"
BUSY_SECONDS = 10.0  # a second process waits this long for the first one's short transaction

Prepare = Callable[[Database], None]
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class _NotWritableError(Exception):
    """SQLite may not write the file or beside it."""


def open_file(path: Path, *, create: bool, migrate: Prepare, check_current: Prepare) -> SQLite:
    """Open the file that `path` means, brought up to date by `migrate`.

    Raises as `open_store` does.
    """
    where = str(path)
    try:
        file = _store_file(path)
        there = file.exists() and file.stat().st_size > 0  # an empty file is no store yet
    except OSError as error:
        raise DataError(f"the store cannot be opened: {error.strerror}", where=where) from error
    if not there and not create:
        raise NoStoreError(where)
    try:
        return _open_to_write(file, where, migrate, collect=create)
    except _NotWritableError as error:
        if create:
            raise DataError("the store is read-only", where=where, todo=COPY_IT) from error
    return _open_to_read(file, where, check_current)


def _store_file(path: Path) -> Path:
    """The SQLite file that a path means; every existing file counts as meant literally."""
    is_file = path.is_file() or (path.suffix == ".sqlite" and not path.is_dir())
    return path if is_file else path / FILE_NAME


def _open_to_write(file: Path, where: str, migrate: Prepare, *, collect: bool) -> SQLite:
    try:
        _make_directory(file.parent)
        db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"the store cannot be opened: {error}", where=where) from error
    database = SQLite(db, file, where)
    try:
        migrate(database)
        _set_up(db)
        if collect:
            database.write(lambda: None)  # tells now whether it may be written
    except sqlite3.DatabaseError as error:
        db.close()
        if code(error) in _NOT_WRITABLE:
            raise _NotWritableError from error
        raise _unusable(error, where) from error
    except DataError as error:
        db.close()
        if isinstance(error.__cause__, sqlite3.Error) and code(error.__cause__) in _NOT_WRITABLE:
            raise _NotWritableError from error
        raise
    return database


def _set_up(db: sqlite3.Connection) -> None:
    _keep_a_log(db)
    # A killed process loses nothing; a power cut may lose the last replies, never the file.
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")


def _keep_a_log(db: sqlite3.Connection) -> None:
    """Write ahead into a log. SQLite does not wait by itself for others who do the same."""
    ends_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > ends_at:
                raise
            time.sleep(0.01)
        else:
            return


def _open_to_read(file: Path, where: str, check_current: Prepare) -> SQLite:
    """Open it in such a way that nothing is written, not even the files that readers share."""
    uri = file.resolve().as_uri()
    try:
        return _checked(f"{uri}?mode=ro", file, where, check_current)
    except sqlite3.DatabaseError:
        # Without its directory no shared file can be made. Taken as a file that nobody changes, it
        # can be read, except for what lies in the write-ahead log.
        log = file.with_name(f"{file.name}-wal")
        if log.exists() and log.stat().st_size:
            raise DataError(
                f"the store is read-only, and its last replies are still in {log.name}",
                where=where,
                todo="copy both to a place that can be written",
            ) from None
    try:
        return _checked(f"{uri}?immutable=1", file, where, check_current)
    except sqlite3.DatabaseError as error:
        raise _unusable(error, where) from error


def _checked(uri: str, file: Path, where: str, check_current: Prepare) -> SQLite:
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    database = SQLite(db, file, where)
    try:
        check_current(database)
    except (sqlite3.DatabaseError, DataError):
        db.close()
        raise
    return database


def _unusable(error: sqlite3.DatabaseError, where: str) -> DataError:
    if code(error) == sqlite3.SQLITE_BUSY:
        return DataError(
            "another process holds the store locked", where=where, todo="let it end, then try again"
        )
    return DataError(f"not a usable SQLite file: {error}", where=where, todo="name another --store")


def _make_directory(directory: Path) -> None:
    if directory.exists():
        return
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)  # others may open it at once
    (directory / ".gitignore").write_text("*\n", encoding="utf-8")
