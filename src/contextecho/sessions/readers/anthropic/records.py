"""The records of a file of Anthropic messages: its lines, or the elements of its document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from contextecho.sessions.building.jsontext import BROKEN, decode_json
from contextecho.sessions.building.placed import Document, Placed, placed_lines
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Span
from contextecho.sessions.readers.anthropic.blocks import is_message

MESSAGES: Final = ((), ("messages",), ("request", "messages"), ("request", "body", "messages"))
"""Where the messages of a document can be that is too long to be decoded, or cut."""


def records_of(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """What the file holds up to byte `end`, one by one: messages, requests, conversations."""
    file.seek(0)
    lines = [line for line, _ in zip((line for line in file if line.strip()), "ab", strict=False)]
    file.seek(0)
    first = decode_json(lines[0]) if lines else BROKEN
    if isinstance(first, dict):
        yield from placed_lines(file, end, tally, is_message, ("role", "content", "id", "type"))
    elif isinstance(first, list) and len(lines) > 1:
        yield from _lists(file, end, tally)
    else:
        yield from _of_document(file.read(end), tally)


def _lists(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """The lines of a file of which each is an array."""
    offset = 0
    for number, line in enumerate(file, 1):
        value = decode_json(line[: end - offset])
        if value is not BROKEN:
            yield Placed(number, Span(offset, len(line)), value)
        elif line.strip():
            tally.add("broken line", number)
        offset += len(line)


def _of_document(data: bytes, tally: Tally) -> Iterator[Placed]:
    document = Document(data)
    if document.has_array():
        elements = document.elements(tally=tally)
        yield from elements
    elif (whole := document.placed()) is not None:
        yield whole
    else:
        for keys in MESSAGES[1:]:
            yield from document.elements(*keys, tally=tally)
