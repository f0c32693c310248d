"""Fields of records that may have any shape.

The one thing to know: what is not of the kind that is asked for is taken for missing.
Several keys lead to a field one inside the other; without keys the value itself is meant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_INFINITE: Final = 1e300  # a number this large is as good as none
_LEAP: Final = re.compile(r"([ T]\d\d:\d\d:)60")


def under(value: Any, *keys: str) -> Any:
    """What the keys lead to; None if they lead nowhere."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def string(value: Any, *keys: str) -> str | None:
    """The text under these keys; None if there is none."""
    found = under(value, *keys)
    return found if isinstance(found, str) else None


def text_in(value: Any, *keys: str) -> str:
    """The text under these keys, or the empty one."""
    return string(value, *keys) or ""


def filled(value: Any, *keys: str) -> str | None:
    """The text under these keys that is not empty; None if there is none."""
    return string(value, *keys) or None


def object_in(value: Any, *keys: str) -> dict[str, Any]:
    """The object under these keys, or an empty one."""
    found = under(value, *keys)
    return found if isinstance(found, dict) else {}


def list_in(value: Any, *keys: str) -> list[Any]:
    """The list under these keys, or an empty one."""
    found = under(value, *keys)
    return found if isinstance(found, list) else []


def objects_in(value: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects in the list under these keys; none if there is no list."""
    return [item for item in list_in(value, *keys) if isinstance(item, dict)]


def number_in(value: Any, *keys: str) -> float | None:
    """The finite number under these keys; None if there is none."""
    found = under(value, *keys)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if is_number and abs(found) < _INFINITE else None


def integer_in(value: Any, *keys: str) -> int | None:
    """The whole number under these keys; None if there is none."""
    found = under(value, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def instant(value: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is UTC. None for anything else."""
    return seconds(moment(value))


def moment(value: Any) -> datetime | None:
    """The moment of an ISO 8601 time, with a zone if it tells one. None for anything else.

    A leap second (23:59:60), which Python does not know, is the second that follows.
    """
    if not isinstance(value, str):
        return None
    second_before = _LEAP.sub(r"\g<1>59", value, count=1)
    try:
        leap = timedelta(seconds=second_before != value)
        return datetime.fromisoformat(second_before) + leap
    except (ValueError, OverflowError):
        return None


def seconds(time: datetime | None) -> float | None:
    """Seconds since 1970; a time without a zone is UTC. None for a moment that has no number."""
    if time is None:
        return None
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
