"""Putting the entries of a pi session into a conversation, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Any, Final

from contextecho.sessions.building.chat_parts import blocks_of
from contextecho.sessions.building.conversation import Conversation, Message
from contextecho.sessions.building.fields import instant, string
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
_CUT_SHORT: Final = ("aborted", "error", "length")  # a tuple: what a file holds may not hash
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
        self._entries: list[range] = []  # turns of each entry that a compaction can keep
        self._turns_of: dict[str, range] = {}  # the same, of the entries that have an id

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
        turns = range(first, len(self._conversation.turns))
        self._entries.append(turns)
        if isinstance(id, str) and kind != "session":
            self._turns_of[id] = turns

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
                broken_off=message.get("stopReason") in _CUT_SHORT,
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
        before = entry.get("tokensBefore")
        tokens = before if isinstance(before, int) else None
        conversation.compact(found.line, tokens_before=tokens)
        conversation.keep(self._kept(found))
        self._say(found)

    def _kept(self, found: Placed) -> list[int]:
        """The turns that stayed verbatim, by the number or the id of the first such entry."""
        entry, id = found.value, string(found.value, "id")
        index, first, tail = (
            entry.get(key) for key in ("firstKeptEntryIndex", "firstKeptEntryId", "retainedTail")
        )
        if isinstance(index, int) and 0 <= index <= len(self._entries):
            return [turn for turns in self._entries[index:] for turn in turns]
        above = self._tree.above(id)
        if isinstance(tail, list):
            said = islice((one for one in above if self._turns_of.get(one)), len(tail))
            return self._turns([*said])
        if isinstance(first, str) and self._tree.is_above(first, id):
            return self._turns([*takewhile(lambda one: one != first, above), first])
        if first != id or first is None:
            self._conversation.tally.add("kept messages not found", found.line)
        return []

    def _turns(self, entries: Sequence[str]) -> list[int]:
        """The turns of these entries, of which the last stands first in the file."""
        return [turn for one in reversed(entries) for turn in self._turns_of.get(one, ())]

    def _edit(self, found: Placed) -> None:
        """An extension took an earlier entry out of the context, or put other text for it."""
        turns = [
            self._conversation.turns[i] for i in self._turns_of.get(found.value.get("targetId"), ())
        ]
        cleared = tuple(t.call_id for t in turns if t.kind is Kind.TOOL_RESULT and t.call_id)
        if cleared and self._tree.is_active(string(found.value, "id")):
            kind = CompactionKind.MICRO
            self._conversation.compact(found.line, kind=kind, cleared=cleared, trigger="extension")
        else:
            self._conversation.tally.add("edit of the context", found.line)
