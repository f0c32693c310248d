"""Replaying the append-only log of a chat: which messages there are, and in what order.

The one thing to know: a message is written again and again as it grows; its place is
that of the first time, its content that of the last. `$set` with `messages` (and, in
newer clients, `$patch`) says what the model is shown from here on, not what was said:
messages that it leaves out stay, and of those it names only the new ones are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.fields import list_in
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import CompactionKind, Span
from contextecho.sessions.readers.gemini.copies import Entry, Pool, entry_of
from contextecho.sessions.readers.gemini.parts import masked_ids, part_list, text_of

NOTICES: Final = frozenset({"info", "warning", "error"})
TYPES: Final = NOTICES | {"user", "gemini"}
_TOKENS = re.compile(r"compressed from:? (\d{1,12}|unknown) to (\d{1,12}|unknown) tokens")
_SHARES = re.compile(r"Context compressed from \d{1,3}% to \d{1,3}%")
_NOWHERE: Final = Span(0, 0)


class Compacted(Struct, eq=False):
    """The client changed what the model is shown."""

    line: int
    kind: CompactionKind
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: Entry | None = None
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
        self._retired: list[Entry] = []  # what it was shown before, and was not taken back
        self._batch: set[Entry] = set()  # what may be copies: written since the last answer
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
        known = self._by_id.get(message["id"])
        draft = entry_of(message, placed.line, placed.span)
        if known is not None and not known.abandoned:
            known.span, known.whole, known.atoms = draft.span, draft.whole, draft.atoms
            return
        self._live.append(self._begin(draft, message))
        if kind not in NOTICES:
            self._batch.add(draft)
        if draft.named and not draft.canned:
            self._last = self._unsettled = None
            self._batch.clear()

    def rewind(self, line: int, target: str) -> None:
        """Leave behind the message of this id and all after it."""
        entry = self._by_id.get(target)
        if entry is None or entry not in self._live:
            self._tally.add("rewind to a message that is not there", line)
            return
        begin = self._live.index(entry)
        for left in self._live[begin:]:
            left.abandon()
        del self._live[begin:]

    def show(self, line: int, messages: list[Any], place: Callable[[], Iterator[Placed]]) -> None:
        """From here on the model is shown these messages; `place` finds where they lie."""
        items = [message for message in messages if is_message(message)]
        for _ in range(len(messages) - len(items)):
            self._tally.add("not a message", line)
        new = {item["id"]: item for item in items if item["id"] not in self._by_id}
        drafts = {id: entry_of(item, line, _NOWHERE) for id, item in new.items()}
        found = [self._by_id.get(item["id"]) or drafts[item["id"]] for item in items]
        self._copy_and_leave(list(dict.fromkeys(found)), set(drafts.values()))
        self._by_id |= drafts
        said = [id for id, draft in drafts.items() if draft.copy_of is None]
        spans = _spans(place()) if said else {}
        for id in said:
            drafts[id].span = spans.get(id, _NOWHERE)
            self._begin(drafts[id], new[id])
        self._settle(line, [name for item in items for name in masked_ids(item)])

    def patch(self, line: int, patch: dict[str, Any]) -> None:
        """Change parts of messages, or take messages away, in what the model is shown."""
        changed = [item for item in list_in(patch.get("updates", [patch])) if is_named(item)]
        names = [name for name in list_in(patch.get("removeIds")) if isinstance(name, str)]
        removed = {self._by_id[name] for name in names if name in self._by_id}
        if removed:
            self._copy_and_leave([entry for entry in self._live if entry not in removed], set())
        masked = [name for item in changed for name in masked_ids(item)]
        if changed and not masked:
            self._tally.add("later change of a message", line)
        self._settle(line, masked)

    def _begin(self, entry: Entry, message: dict[str, Any]) -> Entry:
        """Add a message that was not there."""
        text = _said(message)
        self._note_compression(entry, text)
        self._answered = self._answered or (entry.type == "gemini" and not entry.canned)
        self._by_id[message["id"]] = entry
        self.said.append(entry)
        return entry

    def _note_compression(self, entry: Entry, text: str) -> None:
        """Note the compression of which this message is the news or the summary."""
        told = (_TOKENS.search(text) or _SHARES.search(text)) if entry.type == "info" else None
        line, here = entry.line, self._last
        if told:
            if here is None or here.told:
                here = self._compact(Compacted(line, CompactionKind.FULL))
            here.told = True
            manual = text.startswith("Chat history compressed")
            here.trigger = "manual" if manual else "auto"
            before, after = (int(n) if n.isdigit() else None for n in told.groups() or ("", ""))
            here.tokens_before, here.tokens_after = before, after
        elif entry.summary:
            if here is None or here.summary is not None:
                kind = CompactionKind.FULL if self._answered else CompactionKind.CONTINUATION
                here = self._compact(Compacted(line, kind))
            here.summary = entry
            self._unsettled = here

    def _compact(self, here: Compacted) -> Compacted:
        self.said.append(here)
        self._last = here
        return here

    def _copy_and_leave(self, shown: list[Entry], drafts: set[Entry]) -> None:
        """Find the copies in what is shown now, and see what became of all that was."""
        old, staying = self._live, set(shown)
        new = {entry: None for entry in shown if entry in drafts or entry in self._batch}
        gone = [entry for entry in old if entry not in staying and entry.type not in NOTICES]
        anew = all(e in drafts or e in self._batch or e.led or e.type in NOTICES for e in shown)
        taken = [*gone, *(reversed(self._retired) if anew else ())]
        pool = Pool(entry for entry in taken if not entry.abandoned)
        for entry in new:
            sources = pool.sources_of(entry)
            if sources is not None:
                entry.copy_of = tuple(dict.fromkeys(o for e in sources for o in e.originals))
                staying.update(sources)
        for entry in shown:
            entry.abandoned = False
        self._live = shown
        self._batch.clear()
        self._forget_copied_summary()
        brings = any(e.summary and e.copy_of is None for e in drafts)
        if self._unsettled is None and not brings:
            self._take_back([entry for entry in old if entry not in new], staying)
        self._retired += [entry for entry in gone if not entry.abandoned]

    def _forget_copied_summary(self) -> None:
        """A summary that was only written down again is no compression."""
        here = self._unsettled
        if here is not None and here.summary is not None and here.summary.copy_of is not None:
            self.said.remove(here)
            self._unsettled = self._last = None

    def _take_back(self, old: Sequence[Entry], staying: set[Entry]) -> None:
        """What is gone from the end, from a prompt on, was taken back."""
        begin = len(old)
        while begin and (old[begin - 1].type in NOTICES or old[begin - 1] not in staying):
            begin -= 1
        tail = [entry for entry in old[begin:] if not entry.led and entry.type not in NOTICES]
        first = next((n for n, entry in enumerate(tail) if entry.type == "user"), len(tail))
        for entry in tail[first:]:
            entry.abandon()

    def _settle(self, line: int, masked: Sequence[str]) -> None:
        """Note what a compression kept, and which results are masked now."""
        here = self._unsettled
        if here is not None:
            shown = [e for e in self._live if e.type not in NOTICES]
            kept = dict.fromkeys(original for entry in shown for original in entry.originals)
            ours = (e for e in kept if not (e.led or e.summary or e.canned))
            here.kept = tuple(entry for entry in ours if entry.line < here.line)
            self._unsettled = None
        names = dict.fromkeys([*(name for e in self._live for name in e.masked), *masked])
        fresh = tuple(name for name in names if name not in self._masked)
        if fresh:
            self._masked.update(fresh)
            self.said.append(Compacted(line, CompactionKind.MICRO, cleared=fresh))


def is_named(value: Any) -> bool:
    """Whether this is an object with an id."""
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def is_message(value: Any) -> bool:
    """Whether this is a message of a chat."""
    return is_named(value) and isinstance(value.get("type"), str) and value["type"] in TYPES


def _said(message: dict[str, Any]) -> str:
    return text_of(part_list(message.get("content"))).strip()


def _spans(found: Iterator[Placed]) -> dict[str, Span]:
    """Where the messages of a list lie, by id."""
    return {placed.value["id"]: placed.span for placed in found if is_named(placed.value)}
