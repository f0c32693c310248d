"""Decoding JSON that a killed writer, a redactor or a stranger left behind, and writing it.

The one thing to know: nothing here raises on bad input. A value that cannot be
decoded is `BROKEN`, and every string that leaves is valid Unicode: bad bytes
and lone surrogates become U+FFFD.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from contextecho.sessions.building.bounds import LONGEST_HEAD
from contextecho.untrusted import mend_halves

BROKEN: Final = object()
"""Stands for bytes that hold no JSON value (`None` is a value)."""

_BEGINNINGS: Final = (b"{", b"[", BOM_UTF8)
_MOST_STARTS: Final = 1000
_MOST_SAVED: Final = 10_000  # records of a broken line: one that is nothing but `{}` has millions
_MOST_PASSES: Final = 8  # over a broken line in search of a record: deeper than records nest
_BLANK = re.compile(r"[ \t\r\n\ufeff]*")
_NULS = re.compile(rb"\x00+")
_decode = msgspec.json.Decoder().decode
_scanner = json.JSONDecoder(strict=False)


def decode_json(data: bytes | memoryview) -> Any:
    """The value that `data` holds, or `BROKEN`."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        data = bytes(data)
    if not data or data.isspace():
        return BROKEN
    try:  # "-sig": a byte order mark, which editors put before a file's first line, is no content
        return scrub(json.loads(data.decode("utf-8-sig", "replace"), strict=False))
    except (ValueError, RecursionError):
        return BROKEN


def line_values(head: bytes) -> Iterator[Any]:
    """The values of the lines that begin an object or an array, `BROKEN` among them.

    A document spread over lines has many that could be nothing here: they are not decoded.
    Of an object too long for a head there are the first fields.
    """
    for line in head.split(b"\n"):
        line = line.lstrip()
        if line.startswith(_BEGINNINGS):
            value = decode_json(line)
            is_cut = value is BROKEN and len(line) >= LONGEST_HEAD
            yield _first_fields(line) if is_cut else value


def _first_fields(line: bytes) -> Any:
    """What stands before the place at which an object was cut; `BROKEN` if that is nothing."""
    text = line.decode("utf-8", "replace")
    found = ((key, value_at(text, start)) for key, start in members(text, 0))
    return {key: scrub(value[0]) for key, value in found if value is not None} or BROKEN


def json_text(value: Any) -> str:
    """A value as JSON, with every character as itself; none for one nested too deeply to write."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def compact_json(value: Any) -> str:
    """The same without spaces; none for a value nested too deeply to write."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, ValueError):
        return ""


def scrub(value: Any) -> Any:
    """The same value with U+FFFD for every lone surrogate."""
    if isinstance(value, str):
        return mend_halves(value)
    if isinstance(value, list):
        return [scrub(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub(item) for key, item in value.items()}
    return value


def members(text: str, position: int) -> Iterator[tuple[str, int]]:
    """(key, where its value begins) of the object at `position`, as far as it parses.

    The caller need not parse the values; each is parsed here to find the next key.
    """
    position = _skip(text, position, "{")
    while (key := value_at(text, position)) is not None and isinstance(key[0], str):
        start = _skip(text, key[1], ":")
        yield key[0], start
        value = value_at(text, start)
        if value is None:
            return
        position = _skip(text, value[1], ",")


def elements(text: str, position: int) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of each element of the array at `position`, as far as it parses."""
    position = _skip(text, position, "[")
    while (found := value_at(text, position)) is not None:
        value, end = found
        yield position, end, value
        position = _skip(text, end, ",")


def _skip(text: str, position: int, mark: str) -> int:
    """The next position that is neither blank nor this one mark."""
    found = _BLANK.match(text, position)
    position = found.end() if found else position
    if text.startswith(mark, position):
        found = _BLANK.match(text, position + 1)
        position = found.end() if found else position + 1
    return position


def mend_line(
    line: bytes, is_record: Callable[[Any], bool], keys: Sequence[str]
) -> Iterator[tuple[int, bytes]]:
    """The whole records inside a line that is no JSON value, as (start, bytes).

    Finds records glued together (`}{`), records after a run of NUL bytes, and a
    whole record after the stub of one that was cut: one that begins with one of
    `keys` and of which `is_record` says that it is no piece of the stub. Of very many
    only the first are found.
    """
    return islice(_records(line, is_record, keys), _MOST_SAVED)


def _records(
    line: bytes, is_record: Callable[[Any], bool], keys: Sequence[str]
) -> Iterator[tuple[int, bytes]]:
    start = 0
    for piece in _NULS.split(line, _MOST_SAVED):
        start = line.index(piece, start) if piece else start
        yield from _records_in(piece, start, is_record, keys)
        start += len(piece)


def _records_in(
    piece: bytes, base: int, is_record: Callable[[Any], bool], keys: Sequence[str]
) -> Iterator[tuple[int, bytes]]:
    """Whole records at the head of `piece`, then the one that a stub hides."""
    text = piece.decode("utf-8", "surrogateescape")
    position = reached = 0  # characters; `base` goes along, in bytes
    while (found := value_at(text, position)) is not None:
        value, end = found
        if isinstance(value, dict):
            base += len(_encoded(text[reached:position]))
            reached = position
            yield base, _encoded(text[position:end])
        position = end
    hidden = _last_record(text, position, is_record, keys)
    if hidden is not None:
        yield base + len(_encoded(text[reached:hidden])), _encoded(text[hidden:])


def _encoded(text: str) -> bytes:
    """The bytes that a piece of a line was decoded from."""
    return text.encode("utf-8", "surrogateescape")


def value_at(text: str, position: int) -> tuple[Any, int] | None:
    """The JSON value that begins at `position`, and where it ends."""
    try:
        return _scanner.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None


def _last_record(
    text: str, start: int, is_record: Callable[[Any], bool], keys: Sequence[str]
) -> int | None:
    """Where the last record begins that reaches to the end of `text`.

    Tried from the end, so that each attempt costs only the value it begins; a
    line made of nothing but beginnings is given up, by their number and by what
    they cost together.
    """
    end = len(text.rstrip())
    begins = re.compile(rf'\{{\s*"(?:{"|".join(map(re.escape, keys))})"')
    starts = deque((m.start() for m in begins.finditer(text, start + 1)), _MOST_STARTS)
    budget = _MOST_PASSES * len(text)
    while starts and budget > 0:
        begin = starts.pop()
        found = value_at(text, begin)
        if found is not None and found[1] == end and is_record(found[0]):
            return begin
        # Where an attempt failed may lie far behind what it looked at.
        budget -= (len(text) if found is None else found[1]) - begin
    return None
