"""A conversation of V1 on disk: `base_state.json`, and beside it a file for each event.

The one thing to know: a span counts bytes through all files in their order, as if they
were one, so that turns of a folder look like those of any file. Each file must stay what
it was when it was indexed.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Placed, contents_of
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Content, Span, Turn

EVENTS: Final = "events"
_NAME: Final = re.compile(r"event-(\d{1,18})-.+\.json")


class FolderSource:
    """Loads events again, each from its own file."""

    def __init__(self, pieces_of: Callable[[Any], list[Piece]]) -> None:
        """`pieces_of` is what the reader makes of an event, and depends on the event alone."""
        self._pieces_of = pieces_of
        self._files: list[Stamped] = []
        self._starts: list[int] = []
        self._lines: list[int] = []
        self.size = 0  # of all files, in bytes

    def read(self, path: Path, line: int) -> Placed:
        """Read one file as the next. Raises `OSError`."""
        with path.open("rb") as file:
            stamp = Stamp.of(file)
            data = file.read(stamp.size)
        self._files.append(Stamped(path, stamp))
        self._starts.append(self.size)
        self._lines.append(line)
        span = Span(self.size, len(data))
        self.size += len(data)
        return Placed(line, span, decode_json(data))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all files in their order, in hexadecimal."""
        digest = hashlib.sha256()
        for stamped in self._files:
            with stamped.open() as file:
                digest.update(file.read())
        return digest.hexdigest()

    @property
    def files(self) -> list[Path]:
        """All of them, in their order."""
        return [stamped.path for stamped in self._files]

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        yield from contents_of(turns, self._load)

    def _load(self, span: Span) -> list[Piece]:
        with self._files[bisect_right(self._starts, span.offset) - 1].open() as file:
            return self._pieces_of(decode_json(file.read()))

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, event) for each event from the first to the last line."""
        for line, stamped in zip(self._lines, self._files, strict=True):
            if first_line <= line <= last_line:
                with stamped.open() as file:
                    value = decode_json(file.read())
                if isinstance(value, dict):
                    yield line, value


def read_events(base: Path, source: FolderSource, tally: Tally) -> Iterator[Placed]:
    """The events beside `base`, in their order, counted from 1. Raises `OSError`."""
    folder = base.parent / EVENTS
    found = (
        [(_NAME.fullmatch(path.name), path) for path in folder.iterdir()] if folder.is_dir() else []
    )
    numbered = sorted((int(match[1]), path.name, path) for match, path in found if match)
    for line, (_, _, path) in enumerate(numbered, 1):
        if path.is_file():
            yield source.read(path, line)
        else:
            tally.add("event that is no file", line)
