"""Values in a file and where they lie, so that content can be loaded again.

The one thing to know: a file of JSON lines is walked line by line and never held; a
JSON document is held while it is indexed, since it has no lines to go by. Both give
the same `Placed` values, and `PlacedSource` reads any of them again.
"""

from __future__ import annotations

from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.building.bounds import MOST_ELEMENTS
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.jsontext import (
    BROKEN,
    decode_json,
    elements,
    members,
    mend_line,
    scrub,
    value_at,
)
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import CUT, Content, Kind, Span, Turn

_OBJECTS = (dict, Struct)

_MOST_AT_ONCE: Final = 1 << 21  # elements that are cut at once, before one is looked at

# These find where values lie and decode none of them.
_skim = msgspec.json.Decoder(msgspec.Raw).decode
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Placed(Struct, gc=False):
    """A JSON value, the line (or number) it has in its file, and its bytes' place."""

    line: int
    span: Span
    value: Any


def placed_lines(
    file: BinaryIO,
    end: int,
    tally: Tally,
    is_record: Callable[[Any], bool],
    keys: Sequence[str],
    decode: Callable[[bytes], Any] = decode_json,
    begins: tuple[int, int] = (1, 0),
) -> Generator[Placed, None, tuple[int, int]]:
    """The objects of a file of JSON lines, up to byte `end`; the rest is counted.

    Of a broken line the whole records are saved that begin with one of `keys` and are
    records by `is_record`. A line that reaches beyond `end` is still being written.
    `decode` gives a dictionary or a struct for an object, and `BROKEN` for no JSON.
    Where a session goes through several files, lines and bytes are counted from where the
    file `begins`, (line, byte); what comes back at the end is where the next one does.
    """
    number, offset = begins
    end += offset
    for line in file:
        line = line[: end - offset]
        if not line:
            break
        value = decode(line)
        if isinstance(value, _OBJECTS):
            yield Placed(number, Span(offset, len(line)), value)
        else:
            yield from salvaged(value, line, number, offset, tally, is_record, keys, decode)
        number, offset = number + 1, offset + len(line)
    return number, offset


def salvaged(
    value: Any,
    line: bytes,
    number: int,
    offset: int,
    tally: Tally,
    is_record: Callable[[Any], bool],
    keys: Sequence[str],
    decode: Callable[[bytes], Any] = decode_json,
) -> Iterator[Placed]:
    """The whole records in a line at byte `offset` whose `value` is no object; it is counted."""
    if value is not BROKEN:
        tally.add("not a JSON object", number)
    elif line.strip():
        saved = False
        for start, data in mend_line(line, is_record, keys):
            value = decode(data)
            if isinstance(value, _OBJECTS):
                saved = True
                yield Placed(number, Span(offset + start, len(data)), value)
        tally.add("broken line, records saved" if saved else "broken line", number)


class Document:
    """A JSON document whose arrays are wanted element by element, each with its place.

    A whole document is cut up without making objects of it; one that is damaged is
    walked value by value, as far as it parses.
    """

    def __init__(self, data: bytes, offset: int = 0) -> None:
        """`offset` is where `data` begins in its file."""
        self._data = data
        self._offset = offset

    @cached_property
    def _text(self) -> str:
        return self._data.decode("utf-8", "surrogateescape")

    @property
    def is_whole(self) -> bool:
        """Whether it is one JSON value, with nothing damaged or cut."""
        return self._whole(()) is not None

    def value(self, *keys: str) -> Any:
        """The value under these keys, or `BROKEN`."""
        found = self.placed(*keys)
        return BROKEN if found is None else found.value

    def placed(self, *keys: str) -> Placed | None:
        """The value under these keys with its place, as number 1; None if there is none."""
        place = self._whole(keys)
        if place is None:
            position = self._find(keys)
            found = None if position is None else value_at(self._text, position)
            if position is None or found is None:
                return None
            place = (_bytes(self._text[:position]), _bytes(self._text[position : found[1]]))
        begin, length = place
        value = decode_json(self._data[begin : begin + length])
        return None if value is BROKEN else Placed(1, Span(self._offset + begin, length), value)

    def has_array(self, *keys: str) -> bool:
        """Whether there is an array under these keys (without keys: the document itself)."""
        place = self._whole(keys)
        if place is not None:
            return self._data.startswith(b"[", place[0])
        position = self._find(keys)
        return position is not None and self._text.startswith("[", position)

    def elements(self, *keys: str, tally: Tally) -> Iterator[Placed]:
        """The elements of the array under these keys, numbered from 1, as far as it parses.

        Raises `SessionError` once there are more than `MOST_ELEMENTS`.
        """
        place = self._whole(keys)
        if place is None or self._may_be_endless(*place):
            found = self._walk(keys, tally)
        else:
            found = self._cut(*place)
        for placed in found:
            if placed.line > MOST_ELEMENTS:
                raise SessionError(
                    f"holds an array of more than {MOST_ELEMENTS:,} elements, "
                    "which no session's messages are",
                    todo="if it is one all the same, give its messages one a line (JSON lines)",
                )
            yield placed

    def _may_be_endless(self, begin: int, length: int) -> bool:
        """Whether an array here may have so many elements that they are not to be cut at once."""
        may_be = length > 2 * _MOST_AT_ONCE
        return may_be and self._data.count(b",", begin, begin + length) > _MOST_AT_ONCE

    def _cut(self, begin: int, length: int) -> Iterator[Placed]:
        """The elements of a whole array."""
        if not self._data.startswith(b"[", begin):
            return
        for number, raw in enumerate(_array(self._data[begin : begin + length]), 1):
            element = bytes(raw)
            begin = self._data.index(element, begin)
            span = Span(self._offset + begin, len(element))
            yield Placed(number, span, decode_json(element))
            begin += len(element)

    def fields(self, *keys: str, tally: Tally) -> list[tuple[str, Placed]]:
        """(key, value) of the object under these keys, numbered from 1, as far as it parses."""
        place = self._whole(keys)
        try:
            return self._walk_fields(keys, tally) if place is None else self._cut_up(*place)
        except (msgspec.MsgspecError, ValueError):  # keys that are there twice, or no object
            return self._walk_fields(keys, tally)

    def _cut_up(self, begin: int, length: int) -> list[tuple[str, Placed]]:
        """The fields of a whole object. Raises `ValueError` if a key is there twice."""
        found = []
        for number, (key, raw) in enumerate(_object(self._data[begin : begin + length]).items(), 1):
            value = bytes(raw)
            begin = self._data.index(value, begin)
            span = Span(self._offset + begin, len(value))
            found.append((key, Placed(number, span, decode_json(value))))
            begin += len(value)
        return found

    def _walk_fields(self, keys: Sequence[str], tally: Tally) -> list[tuple[str, Placed]]:
        start = self._find(keys)
        if start is None or not self._text.startswith("{", start):
            return []
        found: list[tuple[str, Placed]] = []
        place, offset, end = 0, 0, start
        for key, begin in members(self._text, start):
            inside = value_at(self._text, begin)
            if inside is None:
                break
            offset += _bytes(self._text[place:begin])
            place, end = begin, inside[1]
            length = _bytes(self._text[begin:end])
            value = decode_json(self._data[offset : offset + length])
            span = Span(self._offset + offset, length)
            found.append((scrub(key), Placed(len(found) + 1, span, value)))
        if not self._text[end:].lstrip("{, \t\r\n").startswith("}"):
            tally.add(CUT, len(found) + 1)
        return found

    def _whole(self, keys: Sequence[str]) -> tuple[int, int] | None:
        """(begin, length) of the value under these keys, in a document that is not damaged."""
        begin = len(BOM_UTF8) if self._data.startswith(BOM_UTF8) else 0
        try:
            here = bytes(_skim(self._data[begin:]))
            begin = self._data.index(here, begin)
            for key in keys:
                here = bytes(_object(here)[key])
                begin = self._data.index(here, begin)
        except (msgspec.MsgspecError, ValueError, KeyError, RecursionError):
            return None
        return begin, len(here)

    def _walk(self, keys: Sequence[str], tally: Tally) -> Iterator[Placed]:
        start = self._find(keys)
        if start is None or not self._text.startswith("[", start):
            return
        number, place, offset, end = 0, 0, 0, start
        for number, (begin, end, _) in enumerate(elements(self._text, start), 1):
            offset += _bytes(self._text[place:begin])
            place = begin
            length = _bytes(self._text[begin:end])
            value = decode_json(self._data[offset : offset + length])
            yield Placed(number, Span(self._offset + offset, length), value)
        if not self._text[end:].lstrip("[, \t\r\n").startswith("]"):
            tally.add(CUT, number + 1)

    def _find(self, keys: Sequence[str]) -> int | None:
        """Where the value under these keys begins."""
        body = self._text.lstrip(" \t\r\n\ufeff")
        position = len(self._text) - len(body)
        for wanted in keys:
            if not self._text.startswith("{", position):
                return None
            inside = members(self._text, position)
            found = next((start for key, start in inside if key == wanted), None)
            if found is None:
                return None
            position = found
        return position if position < len(self._text) else None


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


class PlacedSource(Stamped):
    """Loads placed values again, as long as the file stays what it was, or only grows."""

    may_grow = True

    def __init__(
        self,
        path: Path,
        stamp: Stamp,
        pieces_of: Callable[[Any], list[Piece]],
        begins: int = 0,
    ) -> None:
        """`pieces_of` is what the reader makes of a value, and depends on the value alone.

        `begins` is where the file does among the bytes of all that the session goes through.
        """
        super().__init__(path, stamp)
        self._pieces_of = pieces_of
        self._begins = begins
        self._lines = array("I")
        self._offsets = array("Q")
        self._lengths = array("Q")

    def place(self, placed: Placed) -> None:
        """Remember where a record lies, for `records`."""
        self._lines.append(placed.line)
        self._offsets.append(placed.span.offset)
        self._lengths.append(placed.span.length)

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        with self.open() as file:

            def load(span: Span) -> list[Piece]:
                file.seek(span.offset - self._begins)
                return self._pieces_of(decode_json(file.read(span.length)))

            yield from contents_of(turns, load)

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, record) for each record from the first to the last line."""
        with self.open() as file:
            for line, offset, length in zip(self._lines, self._offsets, self._lengths, strict=True):
                if first_line <= line <= last_line:
                    file.seek(offset - self._begins)
                    yield line, decode_json(file.read(length))


def contents_of(
    turns: Iterable[Turn], load: Callable[[Span], Sequence[Piece]]
) -> Iterator[Content]:
    """The content of each turn; `load` gives the pieces of what lies at a span, once for each."""
    place = (-1, -1)
    pieces: Sequence[Piece] = ()
    for turn in turns:
        span = turn.span
        if (span.offset, span.length) != place:
            place = (span.offset, span.length)
            pieces = load(span)
        yield content_of(pieces[span.part])


def content_of(piece: Piece) -> Content:
    """What a piece holds; the arguments of a call that are no JSON object are none."""
    if piece.kind is not Kind.TOOL_CALL:
        return Content(text=piece.text, images=piece.images)
    arguments = decode_json(piece.text.encode("utf-8", "replace"))
    return Content(text=piece.text, arguments=arguments if isinstance(arguments, dict) else {})
