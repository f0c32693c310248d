"""Which of the sessions found `sessions list` shows.

The one thing to know: filters are told from the summaries alone, so that a list of
sessions that were read before opens none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from contextecho.sessions import FoundSession, Summary

_DAYS = re.compile(r"(\d{1,5})d")
_DAY = 86_400.0  # seconds


def read_since(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A day, or a number of days before now: seconds since 1970. Raises click's error."""
    if value is None:
        return None
    days = _DAYS.fullmatch(value)
    if days:
        return time.time() - int(days[1]) * _DAY
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{value!r} is no date: give 2026-01-31, or 7d for seven days", ctx, param
        ) from None


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """What a session must be to be shown; None admits all."""

    client: str | None = None
    model: str | None = None
    since: float | None = None
    suits: str | None = None

    @property
    def are_set(self) -> bool:
        """Whether any is."""
        return self != Filters()

    def admitted(self, sessions: Sequence[FoundSession]) -> list[FoundSession]:
        """The sessions that pass all."""
        if not self.are_set:  # which is known of thousands at once
            return list(sessions)
        return [session for session in sessions if self._admit(session)]

    def _admit(self, found: FoundSession) -> bool:
        summary = found.summary
        return (
            (self.client is None or self.client.casefold() in summary.format.casefold())
            and (self.model is None or self.model.casefold() in " ".join(summary.models).casefold())
            and (self.since is None or found.last_used >= self.since)
            and (self.suits is None or self.suits in _suits(summary))
        )


def _suits(summary: Summary) -> tuple[str, ...]:
    from contextecho.scoring import suitability_of

    return suitability_of(summary).suits
