"""Files that a session goes through one after the other, each from where the last one was left.

The one thing to know: lines and bytes are counted through all of them, as if they were one
file, so that turns of such a session look like those of any. Each may grow, as any log.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from contextecho.sessions.building.placed import PlacedSource
from contextecho.sessions.building.stamp import parts
from contextecho.sessions.model import Content, Turn


class JoinedSource:
    """Loads turns and raw records again, each from its file."""

    def __init__(
        self, sources: Sequence[PlacedSource], offsets: Sequence[int], holding: object
    ) -> None:
        """`offsets` are where each source's file begins, and where the last one ends.

        `holding` is what has to live as long as this: where packed files were unpacked.
        """
        self._sources = sources
        self._offsets = offsets
        self._holding = holding

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of what the session has of each file, in their order, in hexadecimal."""
        digest = hashlib.sha256()
        for source, (begin, end) in zip(self._sources, pairwise(self._offsets), strict=True):
            with source.open() as file:
                for part in parts(file, end - begin):
                    digest.update(part)
        return digest.hexdigest()

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        for number, group in groupby(turns, key=self._number_of):
            yield from self._sources[number].contents(list(group))

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, record) for each record from the first to the last line."""
        for source in self._sources:
            yield from source.records(first_line, last_line)

    def _number_of(self, turn: Turn) -> int:
        return bisect_right(self._offsets, turn.span.offset, hi=len(self._sources)) - 1
