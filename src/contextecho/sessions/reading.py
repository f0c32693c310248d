"""Opening a session file: find the reader for it by its content, and read.

The one thing to know: a file's name decides nothing. A document of an agent
whose format this version does not read is named in the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Final

from contextecho.errors import SessionError
from contextecho.sessions.foreign import looks_like
from contextecho.sessions.model import Session
from contextecho.sessions.readers import READERS, Reader
from contextecho.sessions.stamp import unreadable

_HEAD: Final = 1 << 16
_LONGEST_LINE: Final = 1 << 25


def read_session(path: str | PathLike[str], *, format: str | None = None) -> Session:
    """Index the conversation in a file.

    `format` names a reader and skips the search for one. Raises `SessionError`,
    and nothing else, whatever the bytes are.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise SessionError(
                "is a directory, not a session",
                where=str(path),
                todo=f"contextecho sessions list {path}",
            )
        head = read_head(path)
        if not head.strip():
            raise SessionError("is empty, and holds no conversation", where=str(path))
        return _reader(path, head, format).read(path)
    except OSError as error:
        raise unreadable(path, error) from None


def format_of(head: bytes) -> str | None:
    """The name of the format that these first lines are written in."""
    reader = _first(READERS, head)
    return reader.NAME if reader is not None else None


def read_head(path: Path) -> bytes:
    """The first 64 kB of a file, and the rest of the line that they end in."""
    with path.open("rb") as file:
        return file.read(_HEAD) + file.readline(_LONGEST_LINE)


def _reader(path: Path, head: bytes, format: str | None) -> Reader:
    if format is not None:
        if format in (by_name := {reader.NAME: reader for reader in READERS}):
            return by_name[format]
        raise SessionError(f"no such session format: {format}", todo=f"known: {', '.join(by_name)}")
    found = _first(READERS, head)
    if found is not None:
        return found
    seen = looks_like(head)
    raise SessionError(
        f"not a format this version reads (it looks like {seen})"
        if seen
        else "not a session: neither Claude Code records nor chat messages",
        where=str(path),
    )


def _first(readers: Iterable[Reader], head: bytes) -> Reader | None:
    return next((reader for reader in readers if reader.sniff(head)), None)
