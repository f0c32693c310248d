"""The ways in which SillyTavern has written the time of a message.

The one thing to know: some are the clock of the user's machine, whose time zone the file
does not tell. They are taken for UTC and said to be without a zone: the gaps between
them hold, the hour of the day may not.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from contextecho.sessions.building.fields import seconds

_MONTHS: Final = {
    month: number
    for number, month in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_WORDS: Final = re.compile(r"([A-Za-z]{3,}) (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)\s*([AaPp])[Mm]")
_LETTERS: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s ?(?:(\d{1,3})ms)?"
)
_MILLISECONDS: Final = 100_000_000_000  # a count of seconds this large is in the year 5138


def seconds_of(written: Any) -> tuple[float | None, bool]:
    """Seconds since 1970, and whether the time zone is told; `None` for what is no time."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        return _counted(written), True
    if not isinstance(written, str):
        return None, False
    text = written.strip()
    if re.fullmatch(r"\d{9,16}", text):
        return _counted(int(text)), True
    try:
        time = _moment(text)
    except (ValueError, OverflowError):
        return None, False
    found = seconds(time)
    return found, found is not None and time.tzinfo is not None


def _counted(number: float) -> float | None:
    """A count of milliseconds or seconds in seconds."""
    if not 0 < number < _MILLISECONDS * 1000:
        return None
    return number / 1000 if number >= _MILLISECONDS else float(number)


def _moment(text: str) -> datetime:
    """The moment that a text names. Raises `ValueError`."""
    words, letters = _WORDS.fullmatch(text), _LETTERS.fullmatch(text)
    if words:
        month, day, year, hour, minute, half = words.groups()
        noon = 12 if half in "Pp" else 0
        number = _MONTHS.get(month[:3].lower(), 0)
        return datetime(int(year), number, int(day), int(hour) % 12 + noon, int(minute))
    if letters:
        *whole, thousandths = letters.groups()
        year, month, day, hour, minute, second = map(int, whole)
        return datetime(year, month, day, hour, minute, second, int(thousandths or 0) * 1000)
    return datetime.fromisoformat(text)
