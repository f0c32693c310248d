"""Databases with a write-ahead log that nobody has open: a client was killed, or both were copied.

The one thing to know: SQLite would make an index of such a log beside it, in the client's
folder, where nothing is ours to write. So database and log are read from a private copy, which
is kept while they stay what they are, and removed when the program ends at the latest.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from contextecho.errors import SessionError
from contextecho.sessions.building.stamp import changed

LARGEST: Final = 1 << 31
"""Bytes of a database and its log that are copied."""
_LOG, _INDEX = "-wal", "-shm"


class Copy:
    """A private copy of a database and its log, as long as somebody holds it."""

    def __init__(self, file: Path) -> None:
        """Raises `OSError`."""
        import shutil
        from tempfile import mkdtemp

        folder = Path(mkdtemp(prefix="contextecho-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = folder / "copy.db"
        for ending in ("", _LOG):
            shutil.copyfile(_beside(file, ending), _beside(self.path, ending))


def copy_of(file: Path) -> Copy | None:
    """The copy to read a database from; `None` for one whose log is not left behind.

    Raises `SessionError` for one that is too large, or that changes meanwhile; `OSError`.
    """
    size = _size(_beside(file, _LOG))
    if not size or _beside(file, _INDEX).exists():
        return None
    size += _size(file)
    if size > LARGEST:
        raise SessionError(
            f"has a log that no client has open, and is with it too large to be copied: "
            f"{size:,} bytes",
            where=str(file),
            todo="start the client and end it, which brings the log into the database",
        )
    before = _state(file)
    copy = _copied(file, before)
    if _state(file) != before or _beside(file, _INDEX).exists():
        raise changed(file)
    return copy


@lru_cache(maxsize=1)
def _copied(file: Path, state: tuple[int, ...]) -> Copy:
    """Kept, since a database is opened for each of its sessions, and for their content."""
    return Copy(file)


def _state(file: Path) -> tuple[int, ...]:
    """What tells whether the database or its log changed."""
    found = (_beside(file, ending).stat() for ending in ("", _LOG))
    return tuple(n for each in found for n in (each.st_ino, each.st_size, each.st_mtime_ns))


def _size(file: Path) -> int:
    """Of a file; nothing of one that is not there."""
    with suppress(OSError):
        return file.stat().st_size
    return 0


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(f"{file.name}{ending}")
