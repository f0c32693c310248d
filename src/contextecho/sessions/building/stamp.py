"""Which bytes were indexed, and whether a file is still the one that was."""

from __future__ import annotations

import os
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import msgspec

from contextecho.errors import PassingError


class Stamp(msgspec.Struct, frozen=True):
    """Size and time of change of a file when it was read."""

    size: int
    modified_ns: int

    @classmethod
    def of(cls, file: BinaryIO) -> Stamp:
        """The stamp of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_size, status.st_mtime_ns)


class Stamped:
    """A file that was indexed, and is opened again only as long as it stays what it was."""

    def __init__(self, path: Path, stamp: Stamp) -> None:
        """`stamp` is of the open file, taken before it was read."""
        self._path = path
        self._stamp = stamp

    @property
    def path(self) -> Path:
        """Of the file."""
        return self._path

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file, in hexadecimal. Raises `PassingError` when it is not the same."""
        import hashlib  # takes longer than all else here, and lists need none

        try:
            with self.open() as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise unreadable(self._path, error) from None

    def open(self) -> BufferedReader:
        """Open the file to load content. Raises `PassingError` when it is not the same."""
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise unreadable(self._path, error) from None
        if Stamp.of(file) != self._stamp:
            file.close()
            raise changed(self._path)
        return file


def changed(path: Path) -> PassingError:
    """The error for a session that is not the same any more."""
    return PassingError(
        "the session changed while it was in use",
        where=str(path),
        todo="run the command again, or work on a copy while the client is writing",
    )


def unreadable(path: Path, error: OSError) -> PassingError:
    """The error for a file that the system will not give us."""
    reason = (error.strerror or type(error).__name__).lower()
    return PassingError(f"cannot be read: {reason}", where=str(path))
