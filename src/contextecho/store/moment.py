"""The time as the store writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """Now, ISO-8601 in UTC, to the microsecond: texts sort as moments do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
