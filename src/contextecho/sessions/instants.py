"""Times as session files write them, in seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def instant(value: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
