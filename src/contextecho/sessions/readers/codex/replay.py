"""The copy of another session's history that a forked rollout begins with.

The one thing to know: the client writes the whole copy anew within a moment, so its
timestamps say nothing; the ids of the turns in it (UUIDs that begin with the time) are older
than the fork. The copy ends at the first turn that is younger, or, where turns have no
such ids, at the first pause. The newest clients number the lines: they copy only for some
sub-agents, and say where the copy ends.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contextecho.sessions.building.fields import instant
from contextecho.sessions.readers.codex.records import Payload, Record

_PAUSE: Final = timedelta(seconds=1)
_TIMED: Final = 7  # the version of a UUID that begins with a time in milliseconds
_NUMBERED: Final = "paginated"
_TURNS: Final = frozenset({"task_started", "turn_started"})


class Replay:
    """Tells copied lines from the session's own, line by line."""

    def __init__(self) -> None:
        self.is_over = False  # a line of the session's own was met, and all that follow are
        self._is_copying = False
        self._is_fork = False
        self._forked_at: int | None = None  # milliseconds since 1970
        self._first_ordinal: int | None = None  # of the session's own lines
        self._saw_timed_turn = False
        self._last: datetime | None = None

    def begin(self, meta: Payload, record: Record) -> None:
        """The session's own metadata was met."""
        self._forked_at = milliseconds_in(meta.id) or _milliseconds(meta.timestamp)
        self._is_fork = meta.forked_from_id is not None
        self._first_ordinal = meta.subagent_history_start_ordinal
        self.is_over = meta.history_mode == _NUMBERED and self._first_ordinal is None
        self._last = record.timestamp

    def meet(self) -> None:
        """Another session's metadata was met; its history follows, if nothing else came yet."""
        self._is_copying = not self.is_over

    def is_copied(self, record: Record) -> bool:
        """Whether this line is of the copy. Not to be asked once it is over."""
        if self._first_ordinal is not None and record.ordinal is not None:
            self._is_copying = record.ordinal < self._first_ordinal
            self.is_over = not self._is_copying
            return self._is_copying
        began = _turn_begun(record)
        if began is not None and self._forked_at is not None:
            is_older = began < self._forked_at
            self._is_copying = is_older and (self._is_copying or self._is_fork)
            self._saw_timed_turn |= is_older
            self.is_over = not self._is_copying
        elif not self._saw_timed_turn and _pause(self._last, record.timestamp):
            self._is_copying = False
        self.is_over |= not self._is_copying and not self._is_fork
        self._last = record.timestamp or self._last
        return self._is_copying


def milliseconds_in(id: str | None) -> int | None:
    """The time in a UUID that has one (version 7), in milliseconds since 1970; else `None`."""
    try:
        uuid = UUID(id or "")
    except ValueError:
        return None
    return uuid.int >> 80 if uuid.version == _TIMED else None


def _turn_begun(record: Record) -> int | None:
    """When the turn began that begins with this line, by its id."""
    kind, payload = record.type, record.payload
    if payload and (kind == "turn_context" or (kind == "event_msg" and payload.type in _TURNS)):
        return milliseconds_in(payload.turn_id)
    return None


def _pause(before: datetime | None, now: datetime | None) -> bool:
    """Whether there is a pause between two lines, as far as their times tell."""
    if before is None or now is None or (before.tzinfo is None) != (now.tzinfo is None):
        return False
    return now - before > _PAUSE


def _milliseconds(timestamp: str | None) -> int | None:
    began = instant(timestamp)
    return None if began is None else int(began * 1000)
