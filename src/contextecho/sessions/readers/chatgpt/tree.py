"""Telling a ChatGPT conversation: in which order, which answers a call, what is one message.

The one thing to know: the export writes one answer as several nodes (thoughts, a call, the
words), each below the one before. They are one message of the model as long as nothing
else comes between and none of them was made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from contextecho.sessions.building.branches import Node, in_order, newest_end, way_to
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import filled, list_in, number_in, string
from contextecho.sessions.building.placed import Document, Placed
from contextecho.sessions.model import Kind
from contextecho.sessions.readers.chatgpt.pieces import (
    is_broken_off,
    is_instruction,
    left_out,
    message_of,
    pieces_of,
    role_of,
)
from contextecho.untrusted import one_line


class Telling:
    """Says the messages of one conversation."""

    def __init__(self, conversation: Conversation, place: Callable[[Placed], None]) -> None:
        """`place` is told the number of each message that is said, and where it lies."""
        self._conversation = conversation
        self._place = place
        self._nodes: dict[str, Node] = {}
        self._children = Counter[str | None]()
        self._answer_of: dict[str, str] = {}  # the first node of the answer that a node is of
        self._call_of: dict[str, str] = {}  # the call that a node is, or that its result answers

    def tell(self, document: Document) -> None:
        """Say everything: what was left first, and then what came in its place."""
        found = dict(document.fields("mapping", tally=self._conversation.tally))
        self._nodes = _nodes(found)
        self._children.update(node.parent for node in self._nodes.values())
        way = way_to(self._nodes, self._end(document))
        told = [id for id in in_order(self._nodes, way) if message_of(found[id].value)]
        for number, id in enumerate(told, 1):
            node = Placed(number, found[id].span, found[id].value)
            self._place(node)
            self._say(id, node, is_live=id in way)

    def _end(self, document: Document) -> str | None:
        """Where the live branch ends: as the file says, or else in its newest message."""
        end = document.value("current_node")
        if isinstance(end, str) and end in self._nodes:
            return end
        newest, ends = newest_end(self._nodes)
        if ends > 1:
            self._conversation.tally.add("no current node: the newest message is taken for it", 1)
        return newest

    def _say(self, id: str, found: Placed, *, is_live: bool) -> None:
        message, tally = message_of(found.value), self._conversation.tally
        pieces = [self._linked(id, piece) for piece in pieces_of(found.value)]
        if role_of(message) == "assistant" and not is_instruction(message):
            self._join(id)
        if (reason := left_out(message, pieces)) is not None:
            tally.add(one_line(reason), found.line)
        for _ in list_in(message, "metadata", "attachments"):
            tally.add("attached file", found.line)
        if is_instruction(message) and not self._conversation.turns and is_live:
            self._conversation.system += [piece.text for piece in pieces]
            return
        self._conversation.say(
            Message(
                line=found.line,
                span=found.span,
                pieces=pieces,
                id=self._answer_of.get(id),
                model=filled(message, "metadata", "model_slug"),
                time=number_in(message, "create_time"),
                abandoned=not is_live,
                broken_off=role_of(message) == "assistant" and is_broken_off(message),
            )
        )

    def _join(self, id: str) -> None:
        """Go on with the answer that the node before is of, if this alone follows it."""
        before = self._nodes[id].parent
        alone = before is not None and self._children[before] == 1
        self._answer_of[id] = self._answer_of.get(before or "", id) if alone else id

    def _linked(self, id: str, piece: Piece) -> Piece:
        """A call with an id, its node's; a result with that of the call that it follows."""
        if piece.kind is Kind.TOOL_CALL:
            self._call_of[id] = id
        elif piece.kind is Kind.TOOL_RESULT:
            call = self._call_of.get(self._nodes[id].parent or "")
            if call is None:
                return piece
            self._call_of[id] = call
        else:
            return piece
        return replace(piece, call_id=self._call_of[id])


def _nodes(found: Mapping[str, Placed]) -> dict[str, Node]:
    """The place of each node: below its parent, or else below the node that names it."""
    named = {
        child: id
        for id, node in found.items()
        for child in list_in(node.value, "children")
        if isinstance(child, str)
    }
    return {
        id: Node(_parent(id, node.value, named), number_in(node.value, "message", "create_time"))
        for id, node in found.items()
    }


def _parent(id: str, node: Any, named: Mapping[str, str]) -> str | None:
    return string(node, "parent") or named.get(id)
