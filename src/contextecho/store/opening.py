"""Opening a store: which file a path means, how SQLite is set up, who may collect.

The one thing to know: a store holds private session text, so a new directory is
readable by its owner only and carries a `.gitignore` that keeps it out of git.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from contextecho.errors import DataError, UsageError
from contextecho.store.schema import migrate
from contextecho.store.store import Store

FILE_NAME = "store.sqlite"
BUSY_SECONDS = 10.0  # a second process waits this long for the first one's short transaction


def open_store(path: Path | str, *, create: bool = True) -> Store:
    """Open the store at `path`: a directory (usually `.contextecho`) or a `.sqlite` file.

    Use it in a `with` statement, which closes it. With `create`, what does not
    exist is made. Raises `UsageError` when there is no store, `DataError` when
    the file is not one or is newer than this program.
    """
    file = _store_file(Path(path))
    if not file.exists() and not create:
        raise UsageError(
            "there is no store here", where=str(path), todo="collect first, or name another --store"
        )
    return Store(_connect(file, where=str(path)), file)


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
        raise DataError(
            f"not a usable SQLite file: {error}", where=where, todo="name another --store"
        ) from error
    except DataError:
        db.close()
        raise
    return db


def _make_directory(directory: Path) -> None:
    if directory.exists():
        return
    directory.mkdir(parents=True, mode=0o700)
    (directory / ".gitignore").write_text("*\n", encoding="utf-8")
