"""Where the conversations of a dataset lie in its file.

The one thing to know: a file is walked once, a record at a time, and only the places of
its conversations are kept, so that a dataset of any size can be listed; the table of the
files last asked about is kept, because each of its conversations asks for it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from contextecho.errors import SessionError
from contextecho.sessions.building.jsontext import BROKEN, decode_json, members
from contextecho.sessions.building.records import CHUNK, Places, array_elements, places_of
from contextecho.sessions.building.stamp import Stamp

_MARK: Final = "<|im_start|>"
_LIST: Final = re.compile(rb'"conversations"\s*:\s*\[')
_TEXT: Final = re.compile(rb'"text"\s*:\s*"<\|im_start\|>')


class Layout(Enum):
    """How a file holds its conversations."""

    LINES = auto()  # a record a line
    ARRAY = auto()  # an array of records
    DOCUMENT = auto()  # one record, spread over lines
    MESSAGES = auto()  # an array of messages: one conversation
    CHATML = auto()  # plain text with marks: one conversation


class Table(msgspec.Struct, frozen=True):
    """The conversations of a file."""

    layout: Layout
    stamp: Stamp
    places: Places


class _Row(msgspec.Struct):
    id: str | int | None = None
    conversations: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()


_decode_row = msgspec.json.Decoder(_Row).decode


def layout_of(head: bytes) -> Layout | None:
    """The layout of a file that begins like this, or `None` if it is no dataset of these."""
    text = head.decode("utf-8", "surrogateescape").lstrip("\ufeff \t\r\n")
    if text.startswith(_MARK):
        return Layout.CHATML
    if text.startswith("["):
        kind = _kind(text, _inside(text, 0)) or ""
        return {"record": Layout.ARRAY, "message": Layout.MESSAGES}.get(kind)
    if _kind(text, 0) != "record":
        return None
    first = text.partition("\n")[0].encode("utf-8", "surrogateescape")
    return Layout.LINES if decode_json(first) is not BROKEN else Layout.DOCUMENT


def table_of(path: Path) -> Table:
    """The conversations of a file. Raises `SessionError` if there are none."""
    with path.open("rb") as file:
        return _table(path, Stamp.of(file))


@lru_cache(maxsize=2)
def _table(path: Path, stamp: Stamp) -> Table:
    with path.open("rb") as file:
        layout = layout_of(file.read(CHUNK)) or layout_of(path.read_bytes()) or Layout.LINES
        file.seek(0)
        look = _look_at if layout in (Layout.LINES, Layout.ARRAY) else _alone
        places = places_of(_records(file, stamp.size, layout), look)
    if not places.number_of:
        raise SessionError("holds no conversation: no record has one", where=str(path))
    return Table(layout, stamp, places)


def _records(file: BinaryIO, end: int, layout: Layout) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes) of each record."""
    if layout is Layout.ARRAY:
        yield from array_elements(file, end)
    elif layout is Layout.LINES:
        offset = 0
        for number, line in enumerate(file, 1):
            data = line[: end - offset]
            if data.strip():
                yield number, offset, data
            offset += len(line)
    else:
        yield 1, 0, file.read(end)


def _look_at(data: bytes) -> tuple[bool, str | int | None]:
    """Whether a record holds a conversation, and its id."""
    try:
        row = _decode_row(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # also of bytes that are no text
        return bool(_LIST.search(data) or _TEXT.search(data)), None
    lists = bytes(row.conversations).startswith(b"[")
    marked = bytes(row.text).startswith(f'"{_MARK}'.encode())
    return lists or marked, row.id


def _alone(data: bytes) -> tuple[bool, None]:
    """A file that is one conversation is named by its number."""
    return True, None


def _kind(text: str, position: int) -> str | None:
    """Whether an object is a record with a conversation, or a message, as far as it is there."""
    keys = set()
    for key, start in members(text, position) if text.startswith("{", position) else ():
        keys.add(key)
        if key == "conversations" and text.startswith("[", start):
            first = _inside(text, start)
            return "record" if _is_message(text, first) or text.startswith("]", first) else None
        if key == "text" and text.startswith(f'"{_MARK}', start):
            return "record"
    return "message" if {"from", "value"} <= keys else None


def _is_message(text: str, position: int) -> bool:
    keys = {key for key, _ in members(text, position)} if text.startswith("{", position) else set()
    return {"from", "value"} <= keys or {"role", "content"} <= keys


def _inside(text: str, position: int) -> int:
    """Where the first element of an array begins."""
    return len(text) - len(text[position + 1 :].lstrip())
