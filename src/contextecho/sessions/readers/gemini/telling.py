"""Saying what a chat file holds, message by message, once it is known what is in it.

The one thing to know: one record can be a message of the model together with the
results of its calls, and a record with nothing but a call may be the rest of the
answer before it; the index wants the former apart and the latter joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import instant, string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import CompactionKind, Kind, Span, Speaker
from contextecho.sessions.readers.gemini.copies import Entry
from contextecho.sessions.readers.gemini.log import NOTICES, Compacted
from contextecho.sessions.readers.gemini.parts import (
    borrowed_thoughts,
    part_list,
    pieces,
    text_of,
    tool_calls,
    unknown_parts,
)
from contextecho.sessions.readers.gemini.speakers import is_summary, workspace


class _Answer(Struct):
    """The model's record said last, with nothing but notices since."""

    id: str
    calls: bool


class Telling:
    """Says messages into a conversation."""

    def __init__(self, conversation: Conversation, *, by_model_only: bool = False) -> None:
        """`by_model_only`: a sub-agent's, whose prompts another model wrote."""
        self.cwd: str | None = None
        self._conversation = conversation
        self._by_model_only = by_model_only
        self._turns_of: dict[Entry, range] = {}
        self._answered: set[str] = set()
        self._answer: _Answer | None = None
        self._spoken = False

    def compact(self, here: Compacted) -> None:
        """The client changed what the model is shown."""
        self._conversation.compact(
            here.line,
            kind=here.kind,
            trigger=here.trigger,
            tokens_before=here.tokens_before,
            tokens_after=here.tokens_after,
            cleared=here.cleared,
        )
        self._conversation.keep([n for entry in here.kept for n in self._turns_of.get(entry, ())])

    def record(self, entry: Entry, message: dict[str, Any]) -> None:
        """Say what a record of the client's holds."""
        if entry.type in NOTICES:
            self._conversation.tally.add("client notice", entry.line)
            return
        if entry.copy_of is not None:
            self._conversation.tally.add("repeated message", entry.line)
            return
        for _ in range(borrowed_thoughts(message)):
            self._conversation.tally.add("thought of the next message", entry.line)
        begin = len(self._conversation.turns)
        self._say(entry.line, entry.span, message, self._id_of(message), entry.abandoned)
        self._turns_of[entry] = range(begin, len(self._conversation.turns))

    def content(self, placed: Placed) -> None:
        """Say what an element of the API's history holds."""
        parts = part_list(placed.value.get("parts"))
        if placed.value.get("role") == "user" and is_summary(text_of(parts)):
            kind = CompactionKind.FULL if self._spoken else CompactionKind.CONTINUATION
            self.compact(Compacted(placed.line, kind))
        self._spoken = self._spoken or placed.value.get("role") == "model"
        self._say(placed.line, placed.span, placed.value, None, abandoned=False)

    def _id_of(self, message: dict[str, Any]) -> str | None:
        """The id under which the model's records are joined; None for what is no answer."""
        if message.get("type") != "gemini":
            self._answer = None
            return None
        last, calls = self._answer, bool(tool_calls(message))
        rest = calls and not message.get("content") and message.get("tokens") is None
        id = last.id if rest and last is not None and not last.calls else str(message.get("id"))
        self._answer = _Answer(id, calls)
        return id

    def _say(
        self, line: int, span: Span, value: dict[str, Any], id: str | None, abandoned: bool
    ) -> None:
        for kind in unknown_parts(value):
            self._conversation.tally.add(f"unknown content part: {kind}", line)
        found = [self._heard(piece, line) for piece in pieces(value)]
        model = value.get("model")
        for part in _apart(found):
            self._conversation.say(
                Message(
                    line=line,
                    span=span,
                    pieces=part,
                    id=id,
                    model=string(model),
                    time=instant(value.get("timestamp")),
                    abandoned=abandoned,
                )
            )

    def _heard(self, piece: Piece, line: int) -> Piece | None:
        """A piece as it is here: a result once, a sub-agent's prompt by nobody."""
        if piece.kind is Kind.TOOL_RESULT and piece.call_id is not None:
            if piece.call_id in self._answered:
                self._conversation.tally.add("repeated tool result", line)
                return None
            self._answered.add(piece.call_id)
        if piece.speaker is Speaker.HUMAN and self._by_model_only:
            return replace(piece, speaker=Speaker.HARNESS)
        if piece.speaker is Speaker.HARNESS and self.cwd is None:
            self.cwd = workspace(piece.text)
        return piece


def _apart(found: Sequence[Piece | None]) -> list[list[Piece | None]]:
    """The pieces of a record as messages: the model's, each result, what is sent as the user's."""
    numbered = [(number, piece) for number, piece in enumerate(found) if piece is not None]
    messages = []
    for _, group in groupby(numbered, key=lambda item: _role(item[0], item[1])):
        numbers = {number for number, _ in group}
        messages.append([piece if n in numbers else None for n, piece in enumerate(found)])
    return messages


def _role(number: int, piece: Piece) -> int:
    """Equal for neighbours that are one message."""
    if piece.kind is Kind.TOOL_RESULT:
        return number
    return -1 if piece.kind in (Kind.USER, Kind.SUMMARY) else -2
