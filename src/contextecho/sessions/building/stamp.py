"""Which bytes were indexed, and whether a file still has them.

The one thing to know: a client goes on writing while its session is read. A log only grows,
so what was indexed is still there, and is read; whatever else became of a file, it is refused.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from contextecho.errors import PassingError

_END: Final = 1 << 14  # bytes of a file's beginning and of its end that are compared
_CHUNK: Final = 1 << 20


class Stamp(msgspec.Struct, frozen=True):
    """A file as it was when it was read."""

    size: int
    modified_ns: int
    inode: int = 0
    ends: int = 0  # a checksum of its beginning and of its end

    @classmethod
    def of(cls, file: BinaryIO) -> Stamp:
        """The stamp of an open file."""
        status = os.fstat(file.fileno())
        ends = _ends(file, status.st_size)
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, ends)

    def begins(self, file: BinaryIO) -> bool:
        """Whether this open file is the one that was stamped, with nothing done but appending.

        That is the same file, longer, with the same 16 kB at its beginning and before the place
        where it ended. What was written over between those two while the file grew is not
        seen: no client does that to a log. A document that is written anew has another end.
        """
        status = os.fstat(file.fileno())
        is_longer = status.st_ino == self.inode and status.st_size > self.size
        return is_longer and _ends(file, self.size) == self.ends


def _ends(file: BinaryIO, size: int) -> int:
    """A checksum of the beginning and the end of a file's first `size` bytes."""
    begin = os.pread(file.fileno(), min(_END, size), 0)
    rest = min(_END, size - len(begin))
    return zlib.crc32(os.pread(file.fileno(), rest, size - rest), zlib.crc32(begin))


def parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The next `size` bytes of an open file, one part after the other."""
    while size and (part := file.read(min(_CHUNK, size))):
        size -= len(part)
        yield part


class Stamped:
    """A file that was indexed, and is opened again only as long as it stays what it was."""

    may_grow = False
    """Whether it may have been appended to: then all that is read lies before its former end."""

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
        """SHA-256 of what was indexed, in hexadecimal. Raises as `open`."""
        import hashlib  # takes longer than all else here, and lists need none

        try:
            digest = hashlib.sha256()
            with self.open() as file:
                for part in parts(file, self._stamp.size):
                    digest.update(part)
            return digest.hexdigest()
        except OSError as error:
            raise unreadable(self._path, error) from None

    def open(self) -> BufferedReader:
        """Open the file to load content. Raises `PassingError` when it is not the same."""
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise unreadable(self._path, error) from None
        if Stamp.of(file) == self._stamp or (self.may_grow and self._stamp.begins(file)):
            return file
        file.close()
        raise changed(self._path)


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
