"""Replaying the append-only log of a chat: which messages there are, and in what order.

The one thing to know: a message is written again and again as it grows; its place is
that of the first time, its content that of the last. `$set` with `messages` (and, in
newer clients, `$patch`) says what the model is shown from here on, not what was said:
messages that it leaves out stay, and of those it names only the new ones are added.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.model import CompactionKind, Span
from contextecho.sessions.placed import Placed
from contextecho.sessions.readers.gemini.parts import call_ids, masked_ids, part_list, text_of
from contextecho.sessions.readers.gemini.speakers import CANNED, is_summary
from contextecho.sessions.tally import Tally

NOTICES: Final = frozenset({"info", "warning", "error"})
TYPES: Final = NOTICES | {"user", "gemini"}
_COMPRESSED = re.compile(r"compressed from:? (\d{1,12}|unknown) to (\d{1,12}|unknown) tokens")


class Entry(Struct, eq=False):
    """One message: where it entered, and where its content lies."""

    line: int
    span: Span
    type: str
    signature: int  # of what is said and called; 0 where that is nothing
    abandoned: bool = False


class Compacted(Struct, eq=False):
    """The client changed what the model is shown."""

    line: int
    kind: CompactionKind
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summarised: bool = False
    told: bool = False  # to the human, in a notice
    kept: tuple[Entry, ...] = ()
    cleared: tuple[str, ...] = ()


class Log:
    """What a file's records come to, taken in one after the other."""

    def __init__(self, tally: Tally) -> None:
        self.said: list[Entry | Compacted] = []
        self._tally = tally
        self._by_id: dict[str, Entry] = {}
        self._live: list[Entry] = []  # what the model is shown, and the client's notices
        self._answered = False
        self._last: Compacted | None = None  # the compression since which the model said nothing
        self._unsettled: Compacted | None = None  # one of which it is not known what it kept
        self._masked: set[str] = set()

    def add(self, placed: Placed) -> None:
        """Take in a message, or a later state of one."""
        message = placed.value
        kind = message.get("type")
        if not isinstance(kind, str) or kind not in TYPES:
            self._tally.add(f"unknown record type: {kind or 'without type'}", placed.line)
            return
        entry = self._by_id.get(message["id"])
        if entry is not None and not entry.abandoned:
            entry.span, entry.signature = placed.span, _signature(message)
            return
        self._live.append(self._begin(placed))
        if kind == "gemini" and _said(message) not in CANNED:
            self._answered = True
            self._last = self._unsettled = None

    def rewind(self, line: int, target: str) -> None:
        """Leave behind the message of this id and all after it."""
        entry = self._by_id.get(target)
        if entry is None or entry not in self._live:
            self._tally.add("rewind to a message that is not there", line)
        else:
            self._abandon(self._live.index(entry))

    def show(self, line: int, messages: list[Any], place: Callable[[], Iterator[Placed]]) -> None:
        """From here on the model is shown these messages; `place` finds where they lie."""
        items = [message if is_message(message) else None for message in messages]
        known = self._recognise(items)
        old, fresh = self._live, None
        self._live = []
        for number, (item, entry) in enumerate(zip(items, known, strict=True)):
            if item is None:
                self._tally.add("not a message", line)
                continue
            if entry is None:
                fresh = list(place()) if fresh is None else fresh
                if number >= len(fresh):
                    self._tally.add("cut document", line)
                    break
                entry = self._begin(Placed(line, fresh[number].span, item))
            entry.abandoned = False
            self._by_id[item["id"]] = entry
            self._live.append(entry)
        self._leave_out(old, {entry for entry in known if entry is not None})
        self._mask(line, [item for item in items if item is not None])

    def patch(self, line: int, patch: dict[str, Any]) -> None:
        """Change parts of messages, or take messages away, in what the model is shown."""
        changed = [item for item in _list(patch.get("updates", [patch])) if is_named(item)]
        if changed and not self._mask(line, changed):
            self._tally.add("later change of a message", line)
        names = [name for name in _list(patch.get("removeIds")) if isinstance(name, str)]
        removed = {self._by_id[name] for name in names if name in self._by_id}
        if removed:
            old = self._live
            self._live = [entry for entry in old if entry not in removed]
            self._leave_out(old, set(self._live))

    def _begin(self, placed: Placed) -> Entry:
        """Add a message that was not there."""
        message = placed.value
        text = _said(message)
        self._note_compression(placed.line, message["type"], text)
        entry = Entry(placed.line, placed.span, message["type"], _signature(message))
        self._by_id[message["id"]] = entry
        self.said.append(entry)
        return entry

    def _note_compression(self, line: int, type: str, text: str) -> None:
        """Note the compression of which this message is the news or the summary."""
        told = _COMPRESSED.search(text) if type == "info" else None
        if told:
            here = self._last
            if here is None or here.told:
                here = self._compact(Compacted(line, CompactionKind.FULL))
            here.told = True
            here.trigger = "auto" if "compressed context will be sent" in text else "manual"
            before, after = (int(found) if found.isdigit() else None for found in told.groups())
            here.tokens_before, here.tokens_after = before, after
        elif type == "user" and is_summary(text):
            here = self._last
            if here is None or here.summarised:
                kind = CompactionKind.FULL if self._answered else CompactionKind.CONTINUATION
                here = self._compact(Compacted(line, kind))
            here.summarised = True
            self._unsettled = here

    def _compact(self, here: Compacted) -> Compacted:
        self.said.append(here)
        self._last = here
        return here

    def _recognise(self, items: Sequence[dict[str, Any] | None]) -> list[Entry | None]:
        """For each message the one that it is: by its id, or a copy of one by what it says."""
        known = [self._by_id.get(item["id"]) if item is not None else None for item in items]
        claimed = set(known)
        alike: dict[int, deque[Entry]] = defaultdict(deque)
        for entry in self._live:
            if entry.signature and entry not in claimed:
                alike[entry.signature].append(entry)
        for number, item in enumerate(items):
            if item is not None and known[number] is None:
                copies = alike.get(_signature(item))
                known[number] = copies.popleft() if copies else None
        return known

    def _leave_out(self, old: Sequence[Entry], staying: Collection[Entry]) -> None:
        """Of the messages shown until now only some stay."""
        if self._unsettled is not None:
            self._unsettled.kept = tuple(
                entry for entry in old if entry in staying and entry.type not in NOTICES
            )
            self._unsettled = None
            return
        begin = len(old)
        while begin and (old[begin - 1].type in NOTICES or old[begin - 1] not in staying):
            begin -= 1
        tail = range(begin, len(old))
        first = next((number for number in tail if old[number].type == "user"), len(old))
        for entry in old[first:]:
            entry.abandoned = True

    def _abandon(self, begin: int) -> None:
        for entry in self._live[begin:]:
            entry.abandoned = True
        del self._live[begin:]

    def _mask(self, line: int, messages: Sequence[dict[str, Any]]) -> bool:
        """Note the results that the client took out of the context; whether there are any."""
        found = dict.fromkeys(name for message in messages for name in masked_ids(message))
        fresh = tuple(name for name in found if name not in self._masked)
        if fresh:
            self._masked.update(fresh)
            self.said.append(Compacted(line, CompactionKind.MICRO, cleared=fresh))
        return bool(found)


def is_named(value: Any) -> bool:
    """Whether this is an object with an id."""
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def is_message(value: Any) -> bool:
    """Whether this is a message of a chat."""
    return is_named(value) and isinstance(value.get("type"), str) and value["type"] in TYPES


def _said(message: dict[str, Any]) -> str:
    return text_of(part_list(message.get("content"))).strip()


def _signature(message: dict[str, Any]) -> int:
    """Equal for messages that say and call the same; 0 for one that does neither."""
    said, calls = _said(message), tuple(sorted(set(call_ids(message))))
    return hash((message["type"], said, calls)) if said or calls else 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
