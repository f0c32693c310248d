"""Which bytes were indexed, and whether a file is still the one that was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from threading import Thread
from typing import BinaryIO, Final

import msgspec

from contextecho.errors import SessionError

_BLOCK: Final = 1 << 23  # large: each block costs a wait for the interpreter's lock


class Stamp(msgspec.Struct, frozen=True):
    """Size and time of change of a file when it was read."""

    size: int
    modified_ns: int

    @classmethod
    def of(cls, file: BinaryIO) -> Stamp:
        """The stamp of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_size, status.st_mtime_ns)


class HashBeside:
    """SHA-256 of the first `size` bytes of a file, found in a thread beside the indexing.

    A bare thread: an executor would import more than all the rest of a reader.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._found = ""
        self._error: OSError | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def result(self) -> str:
        """The digest in hexadecimal, once it is known. Raises `OSError` from reading."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found

    def _run(self) -> None:
        try:
            self._found = _sha256_of(self._path, self._size)
        except OSError as error:
            self._error = error


def _sha256_of(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    block = memoryview(bytearray(min(size, _BLOCK)))
    with path.open("rb", buffering=0) as file:
        while size and (got := file.readinto(block[:size])):
            digest.update(block[:got])
            size -= got
    return digest.hexdigest()


def reopen(path: Path, stamp: Stamp) -> BinaryIO:
    """Open a file again to load content. Raises `SessionError` when it is not the same."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    if Stamp.of(file) != stamp:
        file.close()
        raise SessionError(
            "the session changed while it was in use",
            where=str(path),
            todo="run the command again, or work on a copy while the client is writing",
        )
    return file


def unreadable(path: Path, error: OSError) -> SessionError:
    """The error for a file that the system will not give us."""
    reason = (error.strerror or type(error).__name__).lower()
    return SessionError(f"cannot be read: {reason}", where=str(path))
