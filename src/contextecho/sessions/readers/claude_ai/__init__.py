"""Reads Claude.ai's export of a user's data: `conversations.json`, or one conversation of it.

The one thing to know: a message of the model is a whole turn of it, with its thoughts, its
calls and their results, so it is several steps here. Messages name the one that they follow,
in newer exports; what was edited or made again is told where it was left, `abandoned`.
The export names no models. What each module knows:

    pieces    what a message says, by itself
    telling   in which order the messages are told, and where their steps end
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
from contextecho.sessions.readers.claude_ai.pieces import pieces_of
from contextecho.sessions.readers.claude_ai.telling import Telling
from contextecho.untrusted import make_visible

NAME: Final = "claude-ai"
SEEKS: Final = True
"""Each conversation is read from its own place in the file."""

_MESSAGES: Final = re.compile(rb'"chat_messages"\s*:\s*\[')


class _Row(msgspec.Struct):
    """What a list of conversations needs of one."""

    chat_messages: msgspec.Raw = msgspec.Raw()
    uuid: Any = None


_decode_row = msgspec.json.Decoder(_Row).decode


def sniff(head: bytes) -> bool:
    """Whether the file begins with a conversation that has `chat_messages` with senders."""
    if _MESSAGES.search(head) is None:
        return False
    text, places = first_record(head)
    start = places.get("chat_messages", len(text))
    if not text.startswith("[", start):
        return False
    first = len(text) - len(text[start + 1 :].lstrip())
    if text.startswith("]", first):
        return "uuid" in places
    return text.startswith("{", first) and bool(
        {"sender", "uuid"} & {key for key, _ in keys_of(text, first)}
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
    id = document.value("uuid")
    return {"id": make_visible(id)} if isinstance(id, str) and id else {}


def _look_at(data: bytes) -> tuple[bool, str | None]:
    """Whether a record has messages, and its id."""
    try:
        row = _decode_row(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # also of bytes that are no text
        return _MESSAGES.search(data) is not None, None
    id = row.uuid if isinstance(row.uuid, str) else None
    return bytes(row.chat_messages).startswith(b"["), id
