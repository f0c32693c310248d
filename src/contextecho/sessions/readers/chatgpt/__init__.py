"""Reads ChatGPT's export of a user's data: `conversations.json`, or one conversation of it.

The one thing to know: a conversation's messages form a tree, and `current_node` is where
the live branch ends. What was edited or made again is told where it was left, `abandoned`.
What each module knows:

    tree      which messages follow which, and how they are told
    pieces    what a message says, by itself
    content   the text of the kinds of content
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from contextecho.sessions.building.conversation import Conversation
from contextecho.sessions.building.jsontext import members as keys_of
from contextecho.sessions.building.placed import Document, PlacedSource
from contextecho.sessions.building.records import export_at, first_record
from contextecho.sessions.model import Session
from contextecho.sessions.readers.chatgpt.pieces import pieces_of
from contextecho.sessions.readers.chatgpt.tree import Telling
from contextecho.untrusted import make_visible

NAME: Final = "chatgpt"
SEEKS: Final = True
"""Each conversation is read from its own place in the file."""

_MAPPING: Final = re.compile(rb'"mapping"\s*:\s*\{')
_OF_NODE: Final = frozenset({"message", "parent", "children"})


class _Row(msgspec.Struct):
    """What a list of conversations needs of one."""

    mapping: msgspec.Raw = msgspec.Raw()
    conversation_id: Any = None
    id: Any = None


_decode_row = msgspec.json.Decoder(_Row).decode


def sniff(head: bytes) -> bool:
    """Whether the file begins with a conversation that has a `mapping` of nodes."""
    if _MAPPING.search(head) is None:
        return False
    text, places = first_record(head)
    start = places.get("mapping", len(text))
    if not text.startswith("{", start):
        return False
    first = next((place for _, place in keys_of(text, start)), None)
    if first is None:
        return "current_node" in places
    return text.startswith("{", first) and not _OF_NODE.isdisjoint(
        key for key, _ in keys_of(text, first)
    )


def members(path: Path) -> Sequence[str]:
    """The ids of the conversations, or their numbers. Raises `SessionError` if there are none."""
    return list(export_at(path, _look_at).places.number_of)


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    export = export_at(path, _look_at)
    document = export.read(member)
    source = PlacedSource(path, export.stamp, pieces_of)
    conversation = Conversation()
    Telling(conversation, source.place).tell(document)
    return conversation.session(
        path, format=NAME, bytes=export.stamp.size, source=source, **_facts(document)
    )


def _facts(document: Document) -> dict[str, str]:
    ids = (document.value(key) for key in ("conversation_id", "id"))
    id = next((id for id in ids if isinstance(id, str) and id), None)
    return {} if id is None else {"id": make_visible(id)}


def _look_at(data: bytes) -> tuple[bool, str | None]:
    """Whether a record has messages, and its id."""
    try:
        row = _decode_row(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # also of bytes that are no text
        return _MAPPING.search(data) is not None, None
    ids = (id for id in (row.conversation_id, row.id) if isinstance(id, str) and id)
    return bytes(row.mapping).startswith(b"{"), next(ids, None)
