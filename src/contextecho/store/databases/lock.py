"""A lock between processes: an exclusive transaction on an empty SQLite file.

The one thing to know: the system drops the lock when its process dies, on every
platform, so a file that a killed process left behind is no lock and is used again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from contextecho.store.databases.database import LockedError


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Hold the lock that `file` stands for, and take the file away at the end.

    Raises `LockedError` at once while another process holds it.
    """
    with closing(_acquire(file)):
        try:
            yield
        finally:
            # While it is held: whoever opened the file meanwhile finds it gone and begins again.
            with suppress(OSError):  # Windows removes no open file; it is used again then
                file.unlink()


def _acquire(file: Path) -> sqlite3.Connection:
    """A connection in an exclusive transaction on the file that bears this name now."""
    while True:
        file.touch()  # opens no file that exists: closing it again would drop a lock on it
        named = identity(file)
        db = sqlite3.connect(file, timeout=0, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = OFF")  # nothing is written: no second file
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            db.close()
            raise LockedError from error
        if named is not None and identity(file) == named:
            return db
        db.close()


def identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another of the same name; None when there is none."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
