"""The time as the store writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """Now, ISO-8601 in UTC, to the microsecond: texts sort as moments do."""
    # Spelled out: an offset that is always the same takes longer to write than the rest.
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "+00:00"
