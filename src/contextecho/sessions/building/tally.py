"""Counting what a reader left out or mended, by reason."""

from __future__ import annotations

from typing import Final

from contextecho.sessions.model import Skipped

_LONGEST_REASON: Final = 80  # a reason may quote a name from the file
_MOST_LINES: Final = 100


class Tally:
    """Counts by reason, with the lines that the first hundred of each happened on."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lines: dict[str, list[int]] = {}

    def add(self, reason: str, line: int) -> None:
        """Count one more for `reason`."""
        reason = reason[:_LONGEST_REASON]
        self._counts[reason] = count = self._counts.get(reason, 0) + 1
        if count <= _MOST_LINES:
            self._lines.setdefault(reason, []).append(line)

    def __contains__(self, reason: str) -> bool:
        """Whether any was counted for `reason`."""
        return reason in self._counts

    def skipped(self) -> tuple[Skipped, ...]:
        """All reasons, in the order they were first met."""
        return tuple(
            Skipped(reason=reason, count=count, lines=tuple(self._lines[reason]))
            for reason, count in self._counts.items()
        )
