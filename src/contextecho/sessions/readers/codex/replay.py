"""The copy of another session's history that a forked rollout begins with.

The one thing to know: the client writes the whole copy anew within a moment, so its
timestamps say nothing; the ids of the turns in it (UUIDs that begin with the time) are older
than the fork. The copy ends at the first turn that is younger, or, where turns have no
such ids, at the first pause.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contextecho.sessions.readers.codex.records import Payload, Record

_PAUSE: Final = timedelta(seconds=1)
_TIMED: Final = 7  # the version of a UUID that begins with a time in milliseconds
_TURNS: Final = frozenset({"task_started", "turn_started"})


class Replay:
    """Tells copied lines from the session's own, line by line."""

    def __init__(self) -> None:
        self._forked_at: int | None = None  # milliseconds since 1970
        self.is_over = False  # a line of the session's own was met: all others are
        self._is_copying = False
        self._saw_timed_turn = False
        self._last: datetime | None = None

    def begin(self, meta: Payload, record: Record) -> None:
        """The session's own metadata was met."""
        self._forked_at = milliseconds_in(meta.id) or _milliseconds(meta.timestamp)
        self._is_copying = meta.forked_from_id is not None
        self._last = record.timestamp

    def meet(self) -> None:
        """Another session's metadata was met; its history follows, if nothing else came yet."""
        self._is_copying = not self.is_over

    def is_copied(self, record: Record) -> bool:
        """Whether this line is of the copy. Not to be asked once it is over."""
        if self._is_copying and self._ends_copy(record):
            self._is_copying = False
        self._last = record.timestamp or self._last
        self.is_over = not self._is_copying
        return self._is_copying

    def _ends_copy(self, record: Record) -> bool:
        began = None if record.payload is None else _turn_begun(record.type, record.payload)
        if began is not None and self._forked_at is not None:
            if began >= self._forked_at:
                return True
            self._saw_timed_turn = True
        return (
            not self._saw_timed_turn
            and record.timestamp is not None
            and self._last is not None
            and _pause(self._last, record.timestamp)
        )


def milliseconds_in(id: str | None) -> int | None:
    """The time in a UUID that has one (version 7), in milliseconds since 1970."""
    try:
        uuid = UUID(id or "")
    except ValueError:
        return None
    return uuid.int >> 80 if uuid.version == _TIMED else None


def _turn_begun(kind: str, payload: Payload) -> int | None:
    """When the turn began that begins with this line, by its id."""
    if kind == "turn_context" or (kind == "event_msg" and payload.type in _TURNS):
        return milliseconds_in(payload.turn_id)
    return None


def _pause(before: datetime, now: datetime) -> bool:
    """Whether there is a pause between two lines; a time without a zone tells nothing."""
    if (before.tzinfo is None) != (now.tzinfo is None):
        return False
    return now - before > _PAUSE


def _milliseconds(timestamp: str | None) -> int | None:
    try:
        return int(datetime.fromisoformat(timestamp or "").timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
