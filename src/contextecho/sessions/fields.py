"""Fields of records that may have any shape.

The one thing to know: what is not of the kind that is asked for is taken for missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def string(value: Mapping[str, Any], key: str) -> str | None:
    """The text under a key; None if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else None


def instant(value: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
