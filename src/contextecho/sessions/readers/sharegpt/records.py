"""Where the conversations of a dataset lie in its file.

The one thing to know: a file is walked once, a record at a time, and only the places of
its conversations are kept, so that a dataset of any size can be listed; the table of the
files last asked about is kept, because each of its conversations asks for it again.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from contextecho.errors import SessionError
from contextecho.sessions.building.jsontext import BROKEN, decode_json, members
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Span
from contextecho.untrusted import one_line

_CHUNK: Final = 1 << 20
_LONGEST_NAME: Final = 100
_MARK: Final = "<|im_start|>"
_LIST: Final = re.compile(rb'"conversations"\s*:\s*\[')
_TEXT: Final = re.compile(rb'"text"\s*:\s*"<\|im_start\|>')
_CUT_WITHIN: Final = 16  # characters before the end in which an error may be only a cut
_NESTED: Final = 900  # characters that nesting too deep to parse has at least
_scan = json.JSONDecoder(strict=False).raw_decode


class Layout(Enum):
    """How a file holds its conversations."""

    LINES = auto()  # a record a line
    ARRAY = auto()  # an array of records
    DOCUMENT = auto()  # one record, spread over lines
    MESSAGES = auto()  # an array of messages: one conversation
    CHATML = auto()  # plain text with marks: one conversation


class Table(msgspec.Struct, frozen=True):
    """The conversations of a file, by name in the file's order."""

    layout: Layout
    stamp: Stamp
    number_of: dict[str, int]
    offsets: array[int]
    lengths: array[int]

    def place(self, name: str) -> Span:
        """Where one lies. Raises `KeyError` if there is none of this name."""
        number = self.number_of[name]
        return Span(self.offsets[number], self.lengths[number])


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
    offsets, lengths = array("Q"), array("Q")
    numbers, ids = list[str](), dict[str, None]()
    with path.open("rb") as file:
        layout = layout_of(file.read(_CHUNK)) or layout_of(path.read_bytes()) or Layout.LINES
        file.seek(0)
        for number, offset, data in _records(file, stamp.size, layout):
            held, id = _look_at(data) if layout in (Layout.LINES, Layout.ARRAY) else (True, None)
            if held:
                offsets.append(offset)
                lengths.append(len(data))
                numbers.append(str(number))
                ids |= {} if id is None else {id: None}
    if not numbers:
        raise SessionError("holds no conversation: no record has one", where=str(path))
    names = list(ids) if len(ids) == len(numbers) else numbers
    number_of = {name: number for number, name in enumerate(names)}
    return Table(layout, stamp, number_of, offsets, lengths)


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


def array_elements(file: BinaryIO, end: int) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes) of each object in an array that is never held as a whole.

    A broken one, and a last one that was cut, are given as far as they go.
    """
    buffer, base, number = b"", 0, 0
    while chunk := file.read(min(max(_CHUNK, len(buffer)), end - base - len(buffer))):
        buffer += chunk
        text = buffer.decode("latin-1")  # a character a byte: enough to find where objects end
        begin = text.find("{")
        while begin >= 0 and (stop := _end_of(text, begin)) is not None:
            number += 1
            yield number, base + begin, buffer[begin:stop]
            begin = text.find("{", stop)
        kept = len(buffer) if begin < 0 else begin
        buffer, base = buffer[kept:], base + kept
    if buffer:
        yield number + 1, base, buffer


def _end_of(text: str, begin: int) -> int | None:
    """Where an object ends, or where it is broken; `None` if it may go on beyond the text."""
    try:
        return _scan(text, begin)[1]
    except RecursionError:
        return min(begin + _NESTED, len(text))
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated") or error.pos >= len(text) - _CUT_WITHIN
        return None if cut else max(error.pos, begin + 1)
    except ValueError:  # an integer of thousands of digits
        return begin + 1


def _look_at(data: bytes) -> tuple[bool, str | None]:
    """Whether a record holds a conversation, and its id if that can be a name."""
    try:
        row = _decode_row(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # also of bytes that are no text
        return bool(_LIST.search(data) or _TEXT.search(data)), None
    lists = bytes(row.conversations).startswith(b"[")
    marked = bytes(row.text).startswith(f'"{_MARK}'.encode())
    id = "" if row.id is None else str(row.id)
    usual = 0 < len(id) <= _LONGEST_NAME and one_line(id) == id and "#" not in id
    return lists or marked, id if usual else None


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
