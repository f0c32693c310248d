"""Counting what a reader left out or mended, by reason."""

from __future__ import annotations

from typing import Final

from contextecho.sessions.model import Skipped

_LONGEST_REASON: Final = 80  # a reason may quote a name from the file


class Tally:
    """Counts by reason, each with the first line it happened on."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, reason: str, line: int) -> None:
        """Count one more for `reason`."""
        reason = reason[:_LONGEST_REASON]
        entry = self._counts.get(reason)
        if entry is None:
            self._counts[reason] = [1, line]
        else:
            entry[0] += 1

    def skipped(self) -> tuple[Skipped, ...]:
        """All reasons, in the order they were first met."""
        return tuple(
            Skipped(reason=reason, count=count, first_line=line)
            for reason, (count, line) in self._counts.items()
        )
