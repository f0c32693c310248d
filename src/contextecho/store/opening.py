"""Opening a store: which file a path means, how SQLite is set up, who may collect.

The one thing to know: a store holds private session text, so a new directory is
readable by its owner only and carries a `.gitignore` that keeps it out of git.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from contextecho.errors import DataError, UsageError
from contextecho.store.schema import check_current, migrate
from contextecho.store.store import COPY_IT, Store

FILE_NAME = "store.sqlite"
BUSY_SECONDS = 10.0  # a second process waits this long for the first one's short transaction


class _NotWritableError(Exception):
    """SQLite may not write the file or beside it."""


def open_store(path: Path | str, *, create: bool = True) -> Store:
    """Open the store at `path`: a directory (usually `.contextecho`) or a `.sqlite` file.

    Use it in a `with` statement, which closes it. With `create`, what does not
    exist is made. Raises `UsageError` when there is no store, `DataError` when
    the file is not one or is newer than this program. Without `create`, a store
    that may not be written is opened to be read.
    """
    where = str(path)
    try:
        file = _store_file(Path(path))
        there = file.exists()
    except OSError as error:
        raise DataError(f"the store cannot be opened: {error.strerror}", where=where) from error
    if not there and not create:
        raise UsageError(
            "there is no store here", where=where, todo="collect first, or name another --store"
        )
    try:
        return Store(_connect(file, where), file)
    except _NotWritableError as error:
        if create:
            raise DataError("the store is read-only", where=where, todo=COPY_IT) from error
    return Store(_connect_to_read(file, where), file)


def _store_file(path: Path) -> Path:
    """The SQLite file that a path means; every existing file counts as meant literally."""
    is_file = path.is_file() or (path.suffix == ".sqlite" and not path.is_dir())
    return path if is_file else path / FILE_NAME


def _connect(file: Path, where: str) -> sqlite3.Connection:
    try:
        _make_directory(file.parent)
        # Autocommit: every transaction in this room is spelled out.
        db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"the store cannot be opened: {error}", where=where) from error
    try:
        migrate(db, where)
        db.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing; a power cut may lose the last replies, never the file.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
    except sqlite3.DatabaseError as error:
        db.close()
        if _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise _NotWritableError from error
        raise _unusable(error, where) from error
    except DataError:
        db.close()
        raise
    return db


def _connect_to_read(file: Path, where: str) -> sqlite3.Connection:
    """A connection that writes nothing, not even the files that readers share."""
    uri = file.resolve().as_uri()
    try:
        return _checked(f"{uri}?mode=ro", where)
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
        return _checked(f"{uri}?immutable=1", where)
    except sqlite3.DatabaseError as error:
        raise _unusable(error, where) from error


def _checked(uri: str, where: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        check_current(db, where)
    except (sqlite3.DatabaseError, DataError):
        db.close()
        raise
    return db


def _unusable(error: sqlite3.DatabaseError, where: str) -> DataError:
    return DataError(f"not a usable SQLite file: {error}", where=where, todo="name another --store")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _make_directory(directory: Path) -> None:
    if directory.exists():
        return
    directory.mkdir(parents=True, mode=0o700)
    (directory / ".gitignore").write_text("*\n", encoding="utf-8")
