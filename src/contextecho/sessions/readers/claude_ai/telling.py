"""Telling a Claude.ai conversation: in which order, and where the steps of an answer end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from contextecho.sessions.building.branches import Node, in_order, newest_end, way_to
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import instant, objects_in, string, text_in
from contextecho.sessions.building.placed import Document, Placed
from contextecho.sessions.model import Kind
from contextecho.sessions.readers.claude_ai.pieces import BLOCKS, SENDERS, pieces_of
from contextecho.untrusted import one_line

_CUT_SHORT: Final = ("user_canceled", "max_tokens")


class Telling:
    """Says the messages of one conversation."""

    def __init__(self, conversation: Conversation, place: Callable[[Placed], None]) -> None:
        """`place` is told the number of each message that is said, and where it lies."""
        self._conversation = conversation
        self._place = place

    def tell(self, document: Document) -> None:
        """Say everything: what was left first, and then what came in its place."""
        found, nodes = self._messages(document)
        way = way_to(nodes, self._end(document, nodes))
        for number, id in enumerate(in_order(nodes, way), 1):
            message = Placed(number, found[id].span, found[id].value)
            self._place(message)
            self._count(message)
            for said in _steps(message):
                said.abandoned = id not in way
                self._conversation.say(said)

    def _messages(self, document: Document) -> tuple[dict[str, Placed], dict[str, Node]]:
        """The messages by their ids; one that names none before it follows the one before."""
        found: dict[str, Placed] = {}
        nodes: dict[str, Node] = {}
        before = None
        for placed in document.elements("chat_messages", tally=self._conversation.tally):
            message = placed.value
            if not isinstance(message, dict):
                self._conversation.tally.add("not a message", placed.line)
                continue
            id = string(message, "uuid")
            if id is None or id in found or id.startswith("#"):
                id = f"#{placed.line}"
            parent = string(message, "parent_message_uuid") or before
            found[id], before = placed, id
            nodes[id] = Node(parent, instant(message.get("created_at")))
        return found, nodes

    def _end(self, document: Document, nodes: dict[str, Node]) -> str | None:
        """Where the live branch ends: as the file says, or else in its newest message."""
        end = document.value("current_leaf_message_uuid")
        if isinstance(end, str) and end in nodes:
            return end
        newest, ends = newest_end(nodes)
        if ends > 1:
            self._conversation.tally.add("no current message: the newest is taken for it", 1)
        return newest

    def _count(self, found: Placed) -> None:
        """Count what of a message is no turn."""
        message, add = found.value, self._conversation.tally.add
        sender = string(message, "sender")
        if sender not in SENDERS:
            add(f"unknown sender: {one_line(str(sender))}", found.line)
        elif not pieces_of(message):
            add("empty message", found.line)
        for block in objects_in(message, "content"):
            kind = text_in(block, "type")
            if kind == "token_budget":
                add("note of the token budget", found.line)
            elif kind not in (BLOCKS if sender == "assistant" else BLOCKS[:1]):
                add(f"unknown content block: {one_line(kind)}", found.line)
            elif kind == "thinking" and not text_in(block, "thinking").strip():
                add("thinking without text", found.line)


def _steps(found: Placed) -> Iterator[Message]:
    """A message cut up where a tool's result ends a step of the model."""
    first, pieces = 0, pieces_of(found.value)
    for end in [*_ends(pieces), len(pieces)]:
        if end > first:
            yield _message(found, pieces, first, end)
        first = end


def _ends(pieces: Sequence[Piece]) -> Iterator[int]:
    """Where results begin, and where they end."""
    for number in range(1, len(pieces)):
        before, after = (
            piece.kind is Kind.TOOL_RESULT for piece in pieces[number - 1 : number + 1]
        )
        if before is not after:
            yield number


def _message(found: Placed, pieces: Sequence[Piece], first: int, end: int) -> Message:
    message: dict[str, Any] = found.value
    is_last = end == len(pieces)
    return Message(
        line=found.line,
        span=found.span,
        pieces=pieces[first:end],
        first=first,
        time=instant(message.get("created_at")),
        broken_off=is_last
        and string(message, "sender") == "assistant"
        and text_in(message, "stop_reason") in _CUT_SHORT,
    )
