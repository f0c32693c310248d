"""The files that a session goes through: a fork and a revert of newer clients go on in a new one.

The one thing to know: the new file does not repeat what was before. Its `history_base` names
the rollout that it goes on from, and the byte up to which that one is kept. A fork is another
thread's, and has of the files before only what is kept; a revert is the same thread's, so that
what it took back was said in this session, and stays, abandoned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.building.placed import placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.packing.packed import Copy, copy_of, lies_at
from contextecho.sessions.readers.codex.records import (
    FIRST_KEYS,
    HistoryBase,
    Payload,
    Record,
    decode_record,
    is_record,
)
from contextecho.sessions.readers.codex.rollouts import Rollouts, rollout_at

MISSING: Final = "goes on from a file that cannot be found or read: what came before is missing"
CIRCLE: Final = "goes on from a file that goes on from this one: what came before is missing"
DEEP: Final = "goes on from too many files, one after the other: what came before is missing"
SHORT: Final = "goes on from a file that was cut since: its end is missing"

MOST: Final = 1 << 8
"""Files that a session may go through."""


class Part(Struct):
    """A file that a session goes through, and what of it is the session's."""

    path: Path  # where it lies
    plain: Path  # unpacked
    copy: Copy | None  # that it is unpacked in
    id: str  # of the rollout
    head: Payload
    stamp: Stamp
    is_inherited: bool = False  # of the session that this one is a fork of
    end: int = 0  # bytes of it that are the session's
    kept: int = 0  # bytes that no revert took back
    lack: str | None = None  # what of the files before it is missing


def chain_of(path: Path) -> list[Part]:
    """The files that the session at `path` goes through, its own last.

    Just that one, for all but forks and reverts of the newest clients. Raises `OSError`.
    """
    own = _opened(path)
    own.path = lies_at(path)
    named = rollout_at(own.path)
    if own.head.history_base is None and not (named and named.is_reverts):
        return _measured([own])
    rollouts = Rollouts(path, own.path)
    thread = [own] if named is None else [*_of_thread(rollouts, own), own]
    first, seen = thread[0], {part.id for part in thread}
    before: list[Part] = []
    while (base := first.head.history_base) is not None:
        earlier = None if base.thread_id in seen else _found(rollouts, base)
        if earlier is None or len(before) + len(thread) >= MOST:
            first.lack = CIRCLE if base.thread_id in seen else DEEP if earlier else MISSING
            break
        earlier.is_inherited = earlier.head.id != own.head.id
        seen.add(earlier.id)
        before.insert(0, earlier)
        first = earlier
    return _measured(_linked([*before, *thread]))


def earlier_of_thread(path: Path) -> list[Path]:
    """The files before this one that are read with it, and are the same session's; never raises."""
    with suppress(OSError, SessionError):
        return [part.path for part in chain_of(path)[:-1] if not part.is_inherited]
    return []


def _of_thread(rollouts: Rollouts, own: Part) -> Iterator[Part]:
    """The files of the same thread that were made before this one."""
    for rollout in rollouts.of_thread(own.head.id or "", own.id)[-MOST:]:
        if rollout.id != own.id:
            with suppress(OSError, SessionError):
                part = _opened(rollout.path)
                if part.head.id == own.head.id:
                    yield part


def _found(rollouts: Rollouts, base: HistoryBase) -> Part | None:
    """The file that this names, if it is there and can be read."""
    path = None if base.end_byte_offset is None else rollouts.find(base.thread_id)
    with suppress(OSError, SessionError):
        return _opened(path) if path is not None else None
    return None


def _opened(path: Path) -> Part:
    """A file with its metadata, which are its first record."""
    copy = copy_of(path)
    plain = path if copy is None else copy.path
    with plain.open("rb") as file:
        stamp = Stamp.of(file)
        lines = placed_lines(file, stamp.size, Tally(), is_record, FIRST_KEYS, decode_record)
        first = next(lines, None)
    record = Record() if first is None else first.value
    head = record.payload if record.type == "session_meta" else None
    named = rollout_at(lies_at(path))
    id = named.id if named is not None else head and head.id
    return Part(path, plain, copy, id or "", head or Payload(), stamp)


def _linked(parts: list[Part]) -> list[Part]:
    """The parts that the last one goes on from, as far as one names the other, and those between.

    What lies between was taken back, whatever it went on from.
    """
    number = len(parts) - 1
    while number and (base := parts[number].head.history_base) is not None:
        place = _place(parts[:number], base)
        if place is None:
            parts[number].lack = MISSING
            return parts[number:]
        number = place
    return parts


def _measured(parts: list[Part]) -> list[Part]:
    """The parts, with how far each is the session's, and how far no revert took it back."""
    for part, after in zip_longest(parts, parts[1:]):
        part.end = part.kept = part.stamp.size
        if part.is_inherited and after is not None and after.head.history_base is not None:
            part.end = min(part.stamp.size, after.head.history_base.end_byte_offset or 0)
    for number, part in enumerate(parts[1:], 1):
        base, earlier = part.head.history_base, parts[:number]
        place = -1 if base is None else _place(earlier, base)
        if place is None:
            continue
        for other in earlier[place + 1 :]:
            other.kept = 0
        if base is not None:
            kept = base.end_byte_offset or 0
            earlier[place].kept = min(earlier[place].kept, kept)
            part.lack = SHORT if kept > earlier[place].stamp.size else part.lack
    return parts


def _place(parts: Sequence[Part], base: HistoryBase) -> int | None:
    """Which of the parts this names, if it says how far that is kept."""
    if base.end_byte_offset is None:
        return None
    return next((n for n, part in enumerate(parts) if part.id == base.thread_id), None)
