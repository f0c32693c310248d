"""A deadline: when a run must be over, and whether another call can still be back by then.

The one thing to know: it is kept on the loop's clock, which no change of the date moves. A
time of day is looked up on the wall clock once, when it is read.
"""

from __future__ import annotations

import re
from datetime import datetime

from contextecho.errors import UsageError

_SPAN = re.compile(r"(?:\d+(?:\.\d+)?[dhms])+", re.ASCII)
_PART = re.compile(r"([\d.]+)([dhms])", re.ASCII)
_SECONDS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_FORMS = "write 90m, 2h, 1h30m or a moment like 2026-12-01T06:00"


def parse_deadline(text: str) -> float:
    """Seconds from now until "2h", "1h30m" or "2026-12-01T06:00" (local unless it says its zone).

    Raises `UsageError` when it is neither, or not ahead.
    """
    said = text.strip()
    if _SPAN.fullmatch(said.lower()):
        parts = _PART.findall(said.lower())
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        seconds = _moment(said).timestamp() - datetime.now().timestamp()
    if seconds <= 0:
        raise UsageError(f"{text!r} leaves no time", where="--deadline", todo=_FORMS)
    return seconds


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"not a deadline: {text!r}", where="--deadline", todo=_FORMS) from error


class Deadline:
    """The end of a run, as one lane sees it."""

    def __init__(self, moment: float | None) -> None:
        """`moment` is on the loop's clock; None: there is no end."""
        self.moment = moment
        self._longest = 0.0

    def learn(self, seconds: float) -> None:
        """An answer took so long."""
        self._longest = max(self._longest, seconds)

    def allows(self, begun: float) -> bool:
        """Whether a call begun then would be back in time, if it takes as long as the slowest."""
        return self.moment is None or begun + self._longest < self.moment

    def passed(self, now: float) -> bool:
        """Whether it is over."""
        return self.moment is not None and now >= self.moment
