"""The records of a file that holds a session in each: their names, and where they lie.

The one thing to know: a file is walked once, a record at a time, and only places are kept,
so that a file of any size can be listed. Records are named by their ids if every one has
one of its own that can be a name, and else by their numbers.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.building.jsontext import members
from contextecho.sessions.building.placed import Document
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.model import Span
from contextecho.untrusted import one_line

CHUNK: Final = 1 << 20
"""Bytes of a file that are read at a time."""

_LONGEST_NAME: Final = 100
_CUT_WITHIN: Final = 16  # characters before the end in which an error may be only a cut
_NESTED: Final = 900  # characters that nesting too deep to parse has at least
_scan = json.JSONDecoder(strict=False).raw_decode

Look = Callable[[bytes], tuple[bool, str | int | None]]
"""Whether a record, which may be broken, holds a conversation, and its id."""


class Places(Struct, frozen=True):
    """Where each record with a conversation lies, by name in the file's order."""

    number_of: dict[str, int]
    offsets: array[int]
    lengths: array[int]

    def place(self, name: str) -> Span:
        """Where one lies. Raises `KeyError` if there is none of this name."""
        number = self.number_of[name]
        return Span(self.offsets[number], self.lengths[number])


def places_of(records: Iterable[tuple[int, int, bytes]], look: Look) -> Places:
    """The places of the records, given as (number, offset, bytes), that hold a conversation."""
    offsets, lengths = array("Q"), array("Q")
    numbers, ids = list[str](), dict[str, None]()
    for number, offset, data in records:
        held, id = look(data)
        if held:
            offsets.append(offset)
            lengths.append(len(data))
            numbers.append(str(number))
            ids |= {str(id): None} if _is_name(id) else {}
    names = list(ids) if len(ids) == len(numbers) else numbers
    return Places({name: number for number, name in enumerate(names)}, offsets, lengths)


def _is_name(id: str | int | None) -> bool:
    text = "" if id is None else str(id)
    return 0 < len(text) <= _LONGEST_NAME and one_line(text) == text and "#" not in text


def first_record(head: bytes) -> tuple[str, dict[str, int]]:
    """The beginning of a document's first record, and where each of its values begins there."""
    text = head.decode("utf-8-sig", "replace").lstrip("[ \t\r\n")
    return text, dict(members(text, 0)) if text.startswith("{") else {}


class Export(Struct, frozen=True):
    """A file that is one JSON document: an array of records, or one record alone."""

    path: Path
    stamp: Stamp
    places: Places

    def read(self, name: str) -> Document:
        """One record. Raises `SessionError` if the file is not the same any more."""
        place = self.places.place(name)
        with Stamped(self.path, self.stamp).open() as file:
            file.seek(place.offset)
            return Document(file.read(place.length), place.offset)


def export_at(path: Path, look: Look) -> Export:
    """The records of a file. Raises `SessionError` if none holds a conversation."""
    with path.open("rb") as file:
        return _export(path, Stamp.of(file), look)


@lru_cache(maxsize=2)
def _export(path: Path, stamp: Stamp, look: Look) -> Export:
    """Kept, because each of its sessions asks for it again."""
    with path.open("rb") as file:
        places = places_of(array_elements(file, stamp.size), look)
    if not places.number_of:
        raise SessionError("holds no conversation: no record has one", where=str(path))
    return Export(path, stamp, places)


def array_elements(file: BinaryIO, end: int) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes) of each object in an array that is never held as a whole.

    A broken one, and a last one that was cut, are given as far as they go.
    """
    buffer, base, number = b"", 0, 0
    while chunk := file.read(min(max(CHUNK, len(buffer)), end - base - len(buffer))):
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
