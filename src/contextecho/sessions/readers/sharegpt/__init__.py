"""Reads datasets of conversations: ShareGPT records, and ChatML text.

The one thing to know: each record is a session, named by its id where every record has
one of its own, else by its line or number. Nothing tells a human's text from a program's:
every message of the human's role counts as a prompt. A dataset is never held as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.placed import Document, Placed, PlacedSource
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.model import Session, Span
from contextecho.sessions.readers.sharegpt.chatml import ChatmlSource, messages
from contextecho.sessions.readers.sharegpt.records import Layout, layout_of, table_of
from contextecho.sessions.readers.sharegpt.roles import (
    INSTRUCTIONS,
    KNOWN,
    MODEL,
    NAMED_MODELS,
    Calls,
    pieces_of,
)
from contextecho.untrusted import one_line

NAME: Final = "sharegpt"


def sniff(head: bytes) -> bool:
    """Whether the file begins with a record that holds a conversation, or with ChatML."""
    return layout_of(head) is not None


def members(path: Path) -> Sequence[str]:
    """The names of the conversations. Raises `SessionError` if there are none."""
    return list(table_of(path).places.number_of)


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    table = table_of(path)
    place, stamp = table.places.place(member), table.stamp
    with Stamped(path, stamp).open() as file:
        file.seek(place.offset)
        document = Document(file.read(place.length), place.offset)
    if table.layout is Layout.CHATML:
        return _read_text(path, stamp, place, _Telling(None), in_record=False)
    keys = () if table.layout is Layout.MESSAGES else ("conversations",)
    telling = _Telling(None if not keys else document)
    if not document.has_array(*keys):
        return _read_text(path, stamp, place, telling, in_record=True)
    source = PlacedSource(path, stamp, _pieces)
    for placed in document.elements(*keys, tally=telling.conversation.tally):
        if _is_message(placed.value):
            source.place(placed)
            telling.take(placed)
        else:
            telling.conversation.tally.add("not a message", placed.line)
    return telling.session(path, stamp, source)


def _read_text(
    path: Path, stamp: Stamp, place: Span, telling: _Telling, *, in_record: bool
) -> Session:
    """A conversation in ChatML."""
    source = ChatmlSource(path, stamp, place, in_record=in_record)
    text = source.text()
    for message in messages(text):
        if not message.role:
            telling.conversation.tally.add("text between messages", max(message.number, 1))
            continue
        telling.say(
            message.number,
            message.span,
            message.role,
            message.of(text),
            broken_off=not message.whole,
        )
    return telling.session(path, stamp, source)


class _Telling:
    """Takes in the messages of one record."""

    def __init__(self, record: Document | None) -> None:
        self.conversation = Conversation()
        self._calls = Calls()
        found = (
            {key: record.value(key) for key in ("id", "system", "tools", "model")} if record else {}
        )
        self._id = one_line(str(found["id"])) if isinstance(found.get("id"), str | int) else ""
        self._model = found["model"] if isinstance(found.get("model"), str) else None
        if isinstance(found.get("system"), str) and found["system"].strip():
            self.conversation.system.append(found["system"])
        if isinstance(found.get("tools"), str | list) and found["tools"]:
            self.conversation.tally.add("descriptions of tools", 1)

    def take(self, placed: Placed) -> None:
        """Take in a message that is placed in the file."""
        self.say(placed.line, placed.span, *_role_and_text(placed.value))

    def say(
        self, number: int, span: Span, role: str, text: str, *, broken_off: bool = False
    ) -> None:
        """Take in a message; instructions before anything is said are the system prompt."""
        if role not in KNOWN:
            self.conversation.tally.add(f"unknown speaker: {one_line(role)}", number)
            return
        if role in INSTRUCTIONS and not self.conversation.turns:
            self.conversation.system += [text] if text.strip() else []
            return
        pieces = pieces_of(role, text)
        if not pieces:
            self.conversation.tally.add("empty message", number)
        self.conversation.say(
            Message(
                line=number,
                span=span,
                pieces=self._calls.linked(pieces, number),
                model=self._model or (role if role in NAMED_MODELS else None),
                broken_off=broken_off and role in MODEL,
            )
        )

    def session(self, path: Path, stamp: Stamp, source: PlacedSource | ChatmlSource) -> Session:
        """The indexed conversation. Raises `SessionError` if no model speaks in it."""
        told = {"id": self._id} if self._id else {}
        return self.conversation.session(path, format=NAME, bytes=stamp.size, source=source, **told)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(value.get(who), str) and isinstance(value.get(what), str)
        for who, what in (("from", "value"), ("role", "content"))
    )


def _role_and_text(message: dict[str, Any]) -> tuple[str, str]:
    """Who speaks, in lower case, and what."""
    who, what = ("from", "value") if isinstance(message.get("from"), str) else ("role", "content")
    text = message.get(what)
    return message[who].strip().lower(), text if isinstance(text, str) else ""


def _pieces(message: dict[str, Any]) -> list[Piece]:
    return pieces_of(*_role_and_text(message))
