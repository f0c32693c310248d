"""The files that a session goes through: a fork and a revert of newer clients go on in a new one.

The one thing to know: the new file does not repeat what was before. Its `history_base` names
the rollout that it goes on from, and the byte up to which that one is kept. A fork is another
thread's, and has of the files before only what is kept; a revert is the same thread's, so that
what it took back was said in this session, and stays, abandoned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.packing.packed import Copy, copy_of, lies_at
from contextecho.sessions.readers.codex.records import HistoryBase, Payload, Record, decode_record
from contextecho.sessions.readers.codex.rollouts import Rollouts, rollout_at

if TYPE_CHECKING:
    from typing_extensions import TypeIs

MISSING: Final = "goes on from a file that cannot be found or read: what came before is missing"
CIRCLE: Final = "goes on from a file that goes on from this one: what came before is missing"
DEEP: Final = "goes on from too many files, one after the other: what came before is missing"
SHORT: Final = "goes on from a file that was cut since: its end is missing"

MOST: Final = 1 << 8
"""Files that a session may go through."""

_LONGEST_HEAD: Final = 1 << 25


class Part(Struct):
    """A file that a session goes through, and what of it is the session's."""

    path: Path  # where it lies
    plain: Path  # unpacked
    copy: Copy | None  # that it is unpacked in
    id: str  # of the rollout
    head: Payload
    size: int
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
    """A file with its metadata, which are its first line."""
    copy = copy_of(path)
    plain = path if copy is None else copy.path
    with plain.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        record = decode_record(file.readline(_LONGEST_HEAD))
    head = record.payload if _is_head(record) else None
    named = rollout_at(lies_at(path))
    id = named.id if named is not None else head and head.id
    return Part(path, plain, copy, id or "", head or Payload(), size)


def _is_head(record: object) -> TypeIs[Record]:
    return isinstance(record, Record) and record.type == "session_meta"


def _linked(parts: list[Part]) -> list[Part]:
    """The parts from the last on whose own beginning is not among those before it."""
    for number in range(len(parts) - 1, 0, -1):
        base = parts[number].head.history_base
        if base is not None and _place(parts[:number], base) is None:
            parts[number].lack = MISSING
            return parts[number:]
    return parts


def _measured(parts: list[Part]) -> list[Part]:
    """The parts, with how far each is the session's, and how far no revert took it back."""
    for part in parts:
        part.end = part.kept = part.size
    for number, part in enumerate(parts[1:], 1):
        base, earlier = part.head.history_base, parts[:number]
        place = -1 if base is None else _place(earlier, base)
        for other in earlier[0 if place is None else place + 1 :]:
            other.kept = 0
        if base is not None and place is not None:
            whole, kept = earlier[place].size, base.end_byte_offset or 0
            earlier[place].kept = min(earlier[place].kept, kept)
            part.lack = SHORT if kept > whole else part.lack
            if earlier[place].is_inherited and place == number - 1:
                earlier[place].end = min(whole, kept)
    return parts


def _place(parts: Sequence[Part], base: HistoryBase) -> int | None:
    """Which of the parts this names, if it says how far that is kept."""
    if base.end_byte_offset is None:
        return None
    return next((n for n, part in enumerate(parts) if part.id == base.thread_id), None)
