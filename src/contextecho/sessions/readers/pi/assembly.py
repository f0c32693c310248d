"""Putting the entries of a pi session into a conversation, one by one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, Final

from contextecho.sessions.building.chat_parts import blocks_of
from contextecho.sessions.building.conversation import Conversation, Message
from contextecho.sessions.building.fields import instant, integer_in, string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import CompactionKind, Kind
from contextecho.sessions.readers.pi.entries import (
    SUMMARIES,
    knows,
    message_of,
    pieces_of,
)
from contextecho.sessions.readers.pi.tree import Tree

_BLOCKS: Final = ("text", "thinking", "toolCall", "image")
_LEFT_OUT: Final = {
    "model_change": "change of the model",
    "thinking_level_change": "change of the thinking level",
    **dict.fromkeys(("label", "session_info", "custom", "usage"), "client metadata"),
    **dict.fromkeys(("active_tools_change", "leaf"), "client metadata"),
    **dict.fromkeys(("agent_start", "agent_end", "turn_start", "turn_end"), "event of a run"),
    **dict.fromkeys(("message_start", "message_update"), "event of a run"),
    **{f"tool_execution_{when}": "event of a run" for when in ("start", "update", "end")},
}


class Assembly:
    """Takes entries in the file's order; `header` is the session's own."""

    def __init__(self, conversation: Conversation, tree: Tree) -> None:
        self.header: dict[str, Any] = {}
        self._conversation = conversation
        self._tree = tree
        self._first_turns = array("I")  # of each entry
        self._turns_of: dict[str, range] = {}  # all, of the entries that have an id
        self._keepable = array("I")  # turns of the active branch, but for compactions' summaries
        self._said = array("I")  # the first of them of each entry

    def add(self, found: Placed) -> None:
        """Take in one entry; every entry is turns, a compaction, or counted."""
        entry, tally = found.value, self._conversation.tally
        id, kind = entry.get("id"), entry.get("type")
        first = len(self._conversation.turns)
        if kind == "session":
            if self.header:
                tally.add("another session's header", found.line)
            self.header = self.header or entry
        elif isinstance(id, str) and id in self._turns_of:
            tally.add("repeated record", found.line)
            return
        elif kind == "compaction":
            self._compact(found)
            first = len(self._conversation.turns)  # its summary is never kept by a later one
        elif kind == "context_edit":
            self._edit(found)
        elif kind in SUMMARIES or message_of(entry) is not None:
            self._say(found)
        else:
            tally.add(_LEFT_OUT.get(str(kind), f"unknown record type: {kind}"), found.line)
        self._remember(first, id if isinstance(id, str) and kind != "session" else None)

    def _remember(self, first: int, id: str | None) -> None:
        """Which turns an entry is, for compactions that keep them."""
        end = len(self._conversation.turns)
        self._first_turns.append(first)
        if id is not None:
            self._turns_of[id] = range(first, end)
        if first < end and self._tree.is_active(id):
            self._keepable.extend(range(first, end))
            self._said.append(first)

    def _say(self, found: Placed) -> None:
        entry = found.value
        message, pieces = message_of(entry) or {}, pieces_of(entry)
        self._count(message, bool(pieces), found.line)
        if message.get("role") == "system" and not self._conversation.turns:
            self._conversation.system += [piece.text for piece in pieces]
            return
        self._conversation.say(
            Message(
                line=found.line,
                span=found.span,
                pieces=pieces,
                model=string(message, "model"),
                time=instant(entry.get("timestamp")),
                abandoned=not self._tree.is_active(string(entry, "id")),
                broken_off=message.get("stopReason") in ("aborted", "error"),
            )
        )

    def _count(self, message: dict[str, Any], says: bool, line: int) -> None:
        """Count what a message holds that is no turn."""
        add, role = self._conversation.tally.add, message.get("role")
        if message and not knows(message):
            add(f"unknown message role: {role}", line)
        elif message.get("excludeFromContext") is True and not says:
            add("command kept from the model", line)
        elif role == "assistant" and not says:
            reasons = {"aborted": "aborted before a word", "error": "error in place of an answer"}
            add(reasons.get(str(message.get("stopReason")), "empty message"), line)
        elif message and not says:
            add("empty message", line)
        for block in blocks_of(message):
            kind = block.get("type")
            if kind not in _BLOCKS:
                add(f"unknown content block: {kind}", line)
            elif role == "assistant" and kind == "thinking" and not block.get("thinking"):
                add("thinking without text", line)

    def _compact(self, found: Placed) -> None:
        """A compaction of the conversation; one on a branch that was left is only its summary."""
        entry, conversation = found.value, self._conversation
        if not self._tree.is_active(string(entry, "id")):
            conversation.tally.add("compaction of an abandoned branch", found.line)
            self._say(found)
            return
        conversation.compact(found.line, tokens_before=integer_in(entry, "tokensBefore"))
        conversation.keep(self._kept(found))
        self._say(found)

    def _kept(self, found: Placed) -> Iterable[int]:
        """The turns that stayed verbatim, by the number or the id of the first such entry."""
        entry, id = found.value, string(found.value, "id")
        index = integer_in(entry, "firstKeptEntryIndex")
        first, tail = entry.get("firstKeptEntryId"), entry.get("retainedTail")
        if index is not None and 0 <= index <= len(self._first_turns):
            return self._from(self._first_turns[index]) if index < len(self._first_turns) else ()
        if isinstance(tail, list):
            return self._from(self._said[-len(tail) :][0]) if tail and self._said else ()
        if isinstance(first, str) and self._tree.is_above(first, id):
            return self._from(self._turns_of[first].start) if first in self._turns_of else ()
        if first != id or first is None:
            self._conversation.tally.add("kept messages not found", found.line)
        return ()

    def _from(self, turn: int) -> Iterator[int]:
        """The turns that can be kept, from this one on, one by one: they may be too many."""
        places = range(bisect_left(self._keepable, turn), len(self._keepable))
        return (self._keepable[place] for place in places)

    def _edit(self, found: Placed) -> None:
        """An extension took an earlier entry out of the context, or put other text for it."""
        target = self._turns_of.get(string(found.value, "targetId") or "", range(0))
        turns = self._conversation.turns[target.start : target[:1].stop]  # a result is alone
        cleared = tuple(t.call_id for t in turns if t.kind is Kind.TOOL_RESULT and t.call_id)
        if cleared and self._tree.is_active(string(found.value, "id")):
            kind = CompactionKind.MICRO
            self._conversation.compact(found.line, kind=kind, cleared=cleared, trigger="extension")
        else:
            self._conversation.tally.add("edit of the context", found.line)
