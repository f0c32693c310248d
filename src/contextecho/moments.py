"""A moment in writing, from seconds since 1970: one rule for tables, documents and reports.

The one thing to know: files say anything, and what no calendar has is `None`. A table on a
terminal goes by the clock of its machine; a report, which others read elsewhere, by UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime


def local_minute(seconds: float) -> str | None:
    """By the clock of this machine, to the minute."""
    moment = _moment(seconds)
    return None if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")


def local_iso(seconds: float | None) -> str | None:
    """For a program: by the clock of this machine, to the second, with its offset from UTC."""
    moment = None if seconds is None else _moment(seconds)
    return None if moment is None else moment.astimezone().isoformat(timespec="seconds")


def utc_minute(seconds: float) -> str | None:
    """By UTC, to the minute, and saying so."""
    moment = _moment(seconds)
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M UTC")


def is_in_calendar(seconds: float) -> bool:
    """Whether there is such a moment, here as well as by UTC."""
    return _moment(seconds) is not None


def _moment(seconds: float) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
        moment.astimezone()  # a day beyond the calendar's ends is none elsewhere
    except (ValueError, OverflowError, OSError):
        return None
    return moment
