"""Opening a session file: find the reader for it by its content, and read.

The one thing to know: a file's name decides nothing. A document of an agent
whose format this version does not read is named in the error.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from os import PathLike
from pathlib import Path
from typing import Final

from contextecho.errors import SessionError
from contextecho.own_files import refuse_endless
from contextecho.sessions.foreign import looks_like
from contextecho.sessions.jsontext import BROKEN, decode_json
from contextecho.sessions.model import Session
from contextecho.sessions.readers import Reader, chat, readers
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
        head = _read_head(path)
        if not head.strip():
            raise SessionError("is empty, and holds no conversation", where=str(path))
        return _reader(path, head, format).read(path)
    except OSError as error:
        raise unreadable(path, error) from None


def format_of(path: Path) -> str | None:
    """The name of the format that a file is written in. Raises `OSError`."""
    reader = _fitting(path, _read_head(path))
    return reader.NAME if reader is not None else None


def _read_head(path: Path) -> bytes:
    """The first 64 kB of a file, and the rest of the line that they end in."""
    refuse_endless(path)
    with path.open("rb") as file:
        return file.read(_HEAD) + file.readline(_LONGEST_LINE)


def _reader(path: Path, head: bytes, format: str | None) -> Reader:
    if format is not None:
        named = next((reader for reader in readers() if format == reader.NAME), None)
        if named is not None:
            return named
        known = ", ".join(reader.NAME for reader in readers())
        raise SessionError(f"no such session format: {format}", todo=f"known: {known}")
    found = _fitting(path, head)
    if found is not None:
        return found
    seen = looks_like(head)
    raise SessionError(
        f"not a format this version reads (it looks like {seen})"
        if seen
        else "not a session: neither Claude Code records nor chat messages",
        where=str(path),
    )


def _fitting(path: Path, head: bytes) -> Reader | None:
    """The reader for a file: told by its head, or by all of a document spread over lines."""
    found = next((reader for reader in readers() if reader.sniff(head)), None)
    if found is None and _is_spread_out(head) and not looks_like(head):
        # One message, or what stands before the first, can be longer than the head.
        found = chat if chat.sniff(path.read_bytes()) else None
    return found


def _is_spread_out(head: bytes) -> bool:
    """Whether the file begins a JSON document that its first line does not end."""
    first = next(
        (line.strip() for line in head.removeprefix(BOM_UTF8).split(b"\n") if line.strip()), b""
    )
    return first.startswith((b"[", b"{")) and decode_json(first) is BROKEN
