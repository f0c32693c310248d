"""Whether a file is still the one that was indexed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from contextecho.errors import SessionError


class Stamp(msgspec.Struct, frozen=True):
    """Size and time of change of a file when it was read."""

    size: int
    modified_ns: int

    @classmethod
    def of(cls, file: BinaryIO) -> Stamp:
        """The stamp of an open file."""
        status = os.fstat(file.fileno())
        return cls(status.st_size, status.st_mtime_ns)


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
