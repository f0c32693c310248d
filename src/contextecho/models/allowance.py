"""What a provider lets us do in this minute, as the headers of its replies say.

The one thing to know: header names are data (`LimitHeaders`, one set a provider), and
their values come in four forms that cannot be mistaken for each other: a plain number
of seconds, a Go duration (`6m0s`), an RFC 3339 time, and a Unix time in seconds or
milliseconds. What is none of them, or negative, was not said. A time is one on the server's
clock, which it tells in `Date`: ours may be wrong, or be set while we wait.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

import msgspec

from contextecho.models.model import Allowance

_NUMBER = re.compile(r"\d{1,18}(\.\d{1,9})?", re.ASCII)
_DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ns|us|µs|ms|h|m|s))+", re.ASCII)
_PART = re.compile(r"([\d.]+)([a-zµ]+)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# No provider's window is three years long, so a greater number is a Unix time.
_UNIX_SECONDS = 1e8
_UNIX_MILLISECONDS = 1e11


class LimitHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """In which header a provider says each field of an `Allowance`; None: in none."""

    requests_limit: str | None = None
    requests_left: str | None = None
    requests_reset: str | None = None
    tokens_limit: str | None = None
    tokens_left: str | None = None
    tokens_reset: str | None = None


NO_LIMITS = LimitHeaders()  # of a server that tells nothing
_FIELDS = LimitHeaders.__struct_fields__


def read_allowance(headers: Mapping[str, str], names: LimitHeaders) -> Allowance | None:
    """The allowance that the headers, looked up by lower-case name, tell; None where nothing."""
    if names == NO_LIMITS:
        return None
    told: dict[str, float] = {}
    for field, name in zip(_FIELDS, msgspec.structs.astuple(names), strict=True):
        said = headers.get(name) if name is not None else None
        if said is None:
            continue
        value = (
            seconds_until(said.strip(), headers)
            if field.endswith("_reset")
            else _number(said.strip())
        )
        if value is not None:
            told[field] = value
    return Allowance(**told) if told else None


def used_up_for(allowance: Allowance) -> float | None:
    """Seconds until what is used up is there again; None where nothing is, or it is not said.

    A reset without a count is one that is told only when all is used up (Together's).
    """
    counts = (
        (allowance.requests_left, allowance.requests_reset),
        (allowance.tokens_left, allowance.tokens_reset),
    )
    return max((reset for left, reset in counts if reset is not None and not left), default=None)


def _number(said: str) -> float | None:
    return float(said) if _NUMBER.fullmatch(said) else None


def seconds_until(said: str, headers: Mapping[str, str]) -> float | None:
    """Seconds from a reply with these headers until the time that was said; None: it is none."""
    number = _number(said)
    if number is not None:
        if number < _UNIX_SECONDS:
            return number
        return _ahead(number / 1000 if number >= _UNIX_MILLISECONDS else number, headers)
    if _DURATION.fullmatch(said):
        return math.fsum(float(size) * _SECONDS[unit] for size, unit in _PART.findall(said))
    try:
        moment = datetime.fromisoformat(said)
        return None if moment.tzinfo is None else _ahead(moment.timestamp(), headers)
    except (ValueError, OverflowError, OSError):
        return None


def seconds_until_date(said: str, headers: Mapping[str, str]) -> float | None:
    """As `seconds_until` an HTTP date."""
    moment = _http_date(said)
    return None if moment is None else _ahead(moment, headers)


def _ahead(moment: float, headers: Mapping[str, str]) -> float:
    """Seconds until a Unix time, at the moment in which the server sent its reply."""
    sent = _http_date(headers.get("date", ""))
    return max(0.0, moment - (time.time() if sent is None else sent))


def _http_date(said: str) -> float | None:
    try:
        return parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError, OSError):  # no date, or one that no calendar holds
        return None
