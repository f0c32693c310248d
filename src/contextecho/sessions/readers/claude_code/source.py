"""Getting content back out of a Claude Code file, by offset."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from contextecho.errors import SessionError
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.model import Content, Kind, Turn
from contextecho.sessions.readers.claude_code.parts import Part, parts_of, written_text
from contextecho.sessions.readers.claude_code.records import Record, decode_record


class ClaudeCodeSource(Stamped):
    """Reads turns and raw rows of one file, as long as it stays what it was, or only grows."""

    may_grow = True

    def __init__(self, path: Path, stamp: Stamp, line_offsets: array[int]) -> None:
        """`line_offsets` holds where each physical line begins, in bytes."""
        super().__init__(path, stamp)
        self._line_offsets = line_offsets

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        place, parts = (-1, -1), list[Part]()
        with self.open() as file:
            for turn in turns:
                span = turn.span
                if (span.offset, span.length) != place:
                    place = (span.offset, span.length)
                    file.seek(span.offset)
                    parts = self._parts(file.read(span.length))
                yield _content(parts[span.part])

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, raw record) for each line from first to last that is one whole object."""
        if not 1 <= first_line <= len(self._line_offsets):
            return
        with self.open() as file:
            file.seek(self._line_offsets[first_line - 1])
            for line in range(first_line, min(last_line, len(self._line_offsets)) + 1):
                rest = self._stamp.size - self._line_offsets[line - 1]
                record = decode_json(file.readline(rest))
                if isinstance(record, dict):
                    yield line, record

    def _parts(self, data: bytes) -> list[Part]:
        record = decode_record(data)
        if not isinstance(record, Record):
            raise SessionError("a record cannot be read any more", where=str(self._path))
        return parts_of(record)


def _content(part: Part) -> Content:
    if part.written is None:
        return Content(text=part.text, images=part.images)
    if part.kind is not Kind.TOOL_CALL:
        return Content(text=written_text(part.written), images=part.images)
    arguments = decode_json(part.written)
    return Content(
        text=str(part.written, "utf-8", "replace"),
        arguments=arguments if isinstance(arguments, dict) else {},
    )
