"""The events of a log, one a line, where need be of several lines.

The one thing to know: some clients wrote line ends inside a string as they are, so
that one event goes over several lines. A line that breaks off inside a string is
joined with those after it, up to one that begins an event of its own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, Final

from msgspec import Struct

from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Placed, salvaged
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Span
from contextecho.sessions.readers.copilot.events import is_event

_KEYS: Final = ("type", "id", "data")
_BEGIN = re.compile(rb'\s*\{\s*"(?:type|id|data|timestamp|parentId|agentId)"\s*:')
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_MOST_LINES: Final = 10_000
_MOST_BYTES: Final = 1 << 24
_MOST_ATTEMPTS: Final = 8


class _Line(Struct, gc=False):
    number: int
    offset: int
    data: bytes


def event_lines(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """The objects of the log up to byte `end`; what is none, or was mended, is counted."""
    ahead = deque[_Line]()
    unread = _lines(file, end)
    while (line := _next(ahead, unread)) is not None:
        value = decode_json(line.data)
        if isinstance(value, dict):
            yield Placed(line.number, Span(line.offset, len(line.data)), value)
            continue
        joined = _joined(line, ahead, unread) if _breaks_off(line.data) else None
        if joined is not None:
            tally.add("event over several lines", line.number)
            yield joined
        else:
            yield from salvaged(value, line.data, line.number, line.offset, tally, is_event, _KEYS)


def _lines(file: BinaryIO, end: int) -> Iterator[_Line]:
    offset = 0
    for number, data in enumerate(file, 1):
        data = data[: end - offset]
        if not data:
            return
        yield _Line(number, offset, data)
        offset += len(data)


def _next(ahead: deque[_Line], unread: Iterator[_Line]) -> _Line | None:
    return ahead.popleft() if ahead else next(unread, None)


def _breaks_off(data: bytes) -> bool:
    """Whether in a line that is no JSON an event begins and a string is open at the end."""
    return _BEGIN.match(data) is not None and _is_odd(data)


def _joined(first: _Line, ahead: deque[_Line], unread: Iterator[_Line]) -> Placed | None:
    """The event that `first` begins, with the lines that belong to it; `ahead` has the others."""
    taken = [first]
    size, attempts, inside = len(first.data), 0, True
    while len(taken) < _MOST_LINES and size < _MOST_BYTES and attempts < _MOST_ATTEMPTS:
        line = _next(ahead, unread)
        if line is None:
            break
        taken.append(line)
        if _BEGIN.match(line.data):
            break
        size += len(line.data)
        inside ^= _is_odd(line.data)
        if not inside and line.data.rstrip().endswith(b"}"):
            attempts += 1
            value = decode_json(b"".join(part.data for part in taken))
            if isinstance(value, dict):
                return Placed(first.number, Span(first.offset, size), value)
    ahead.extendleft(reversed(taken[1:]))
    return None


def _is_odd(data: bytes) -> bool:
    """Whether the number of quotes that are not escaped is odd: a string opens or closes."""
    return _ESCAPE.sub(b"", data).count(b'"') % 2 == 1
