"""Reads SillyTavern's chats: JSON lines, a header and then a message a line.

The one thing to know: `is_system` does not mean a system prompt but "not shown to the
model": such messages are left out and counted. The greeting stands in the model's
place and was written by the card's author. Of several swipes the chosen one is the
message. The character's name is the turn's `personality`, so that the characters of a
group chat are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import filled, list_in, object_in, objects_in, text_in
from contextecho.sessions.building.jsontext import decode_json, json_text
from contextecho.sessions.building.placed import Placed, PlacedSource, placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Kind, Session, Speaker
from contextecho.sessions.readers.sillytavern.dates import seconds_of

NAME: Final = "sillytavern"
_CLIENT: Final = "SillyTavern System"
_GENERATED: Final = ("gen_started", "gen_finished")
_KEYS: Final = ("name", "mes", "is_user", "extra")


def sniff(head: bytes) -> bool:
    """Whether the file begins with a chat's header, or with a message if it has none."""
    first = next((line for line in head.split(b"\n", 64) if line.strip()), b"")
    value = decode_json(first)
    return _is_header(value) or (_is_message(value) and isinstance(value.get("is_user"), bool))


def read(path: Path) -> Session:
    """Index a chat. Raises `SessionError` if no model speaks in it."""
    chat = _Chat()
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        source = PlacedSource(path, stamp, _pieces)
        for placed in placed_lines(file, stamp.size, chat.tally, _is_message, _KEYS):
            source.place(placed)
            chat.take(placed)
    return chat.conversation.session(path, format=NAME, bytes=stamp.size, source=source)


class _Chat:
    """Takes in the lines of a chat."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.tally = self.conversation.tally
        self._begun = False  # a human has spoken, or a model was asked
        self._answer: str | None = None  # the model's message just before

    def take(self, placed: Placed) -> None:
        """Take in the header or a message; what is neither is counted."""
        if _is_message(placed.value):
            self._take_message(placed)
        elif _is_header(placed.value):
            self._take_header(placed)
        else:
            self.tally.add("not a message", placed.line)

    def _take_header(self, placed: Placed) -> None:
        metadata = object_in(placed.value, "chat_metadata")
        system = text_in(metadata, "system_prompt")
        if system.strip():
            self.conversation.system.append(system)
        if text_in(metadata, "note_prompt").strip():
            self.tally.add("author's note, which the client puts into its requests", placed.line)

    def _take_message(self, placed: Placed) -> None:
        message = placed.value
        for _ in list_in(message, "swipes")[1:]:
            self.tally.add("swipe that was not chosen", placed.line)
        called = bool(_invocations(message))
        if message.get("is_system") is True and not called:
            self.tally.add(_hidden(message), placed.line)
            return
        pieces = _pieces(message)
        by_model = any(piece.speaker is Speaker.MODEL for piece in pieces)
        if by_model and not self._begun and not called and not _is_generated(message):
            by_model = False
            pieces = [replace(piece, speaker=Speaker.HARNESS, final=False) for piece in pieces]
        elif pieces:
            self._begun |= by_model or pieces[0].speaker is Speaker.HUMAN
        else:
            self.tally.add("empty message", placed.line)
        # The calls of an answer follow it as a message of their own.
        id = self._answer if called and self._answer else str(placed.line)
        self._answer = id if by_model and not called else None
        self.conversation.say(
            Message(
                line=placed.line,
                span=placed.span,
                pieces=pieces,
                id=id,
                model=filled(message, "extra", "model"),
                time=self._time(placed),
                personality=(filled(message, "name")) if by_model else None,
            )
        )

    def _time(self, placed: Placed) -> float | None:
        written = placed.value.get("send_date")
        if written in (None, ""):
            return None
        seconds, has_zone = seconds_of(written)
        if seconds is None:
            self.tally.add("unreadable time", placed.line)
        elif not has_zone:
            self.tally.add("time without a time zone, taken for UTC", placed.line)
        return seconds


def _is_header(value: Any) -> bool:
    """Whether this is a header: metadata and the names of those who speak."""
    if not isinstance(value, dict) or "mes" in value:
        return False
    named = isinstance(value.get("user_name"), str)
    metadata = isinstance(value.get("chat_metadata"), dict)
    return named and (metadata or isinstance(value.get("character_name"), str))


def _is_message(value: Any) -> bool:
    """Whether this is a message: who speaks, and what."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("mes"), str)
        and (isinstance(value.get("name"), str) or "is_user" in value)
    )


def _is_generated(message: Mapping[str, Any]) -> bool:
    """Whether a message bears the marks of a model's answer."""
    extra = object_in(message, "extra")
    return any(message.get(key) for key in _GENERATED) or bool(
        text_in(extra, "model") or text_in(extra, "api")
    )


def _hidden(message: Mapping[str, Any]) -> str:
    """Why a message that the model was not shown is left out."""
    kind = text_in(message, "extra", "type")
    if kind == "comment":
        return "comment that the model was not shown"
    if kind or message.get("name") == _CLIENT:
        return "notice of the client"
    by = "the human" if message.get("is_user") is True else "a character"
    return f"message of {by}, hidden from the model"


def _pieces(message: Mapping[str, Any]) -> list[Piece]:
    """The pieces of a message, by the message alone."""
    calls = _invocations(message)
    if calls:
        return [piece for call in calls for piece in _called(call)]
    text, extra = text_in(message, "mes"), object_in(message, "extra")
    images = _images(extra)
    if not (text.strip() or images):
        return []
    if text_in(extra, "type"):
        return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)]
    if message.get("is_user") is True:
        return [Piece(Kind.USER, Speaker.HUMAN, text, images=images)]
    thought = text_in(extra, "reasoning")
    thoughts = [Piece(Kind.THINKING, Speaker.MODEL, thought)] if thought.strip() else []
    return [*thoughts, Piece(Kind.ASSISTANT, Speaker.MODEL, text, images=images)]


def _invocations(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return objects_in(message, "extra", "tool_invocations")


def _called(call: Mapping[str, Any]) -> Iterator[Piece]:
    """A tool call and its result."""
    name, call_id = filled(call, "name"), filled(call, "id")
    arguments = _written(call.get("parameters"))
    yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, call_id)
    result = _written(call.get("result"))
    yield Piece(Kind.TOOL_RESULT, Speaker.TOOL, result, name, call_id)


def _images(extra: Mapping[str, Any]) -> int:
    """Pictures and files that hang on a message; newer clients list them."""
    listed = sum(len(list_in(extra, key)) for key in ("media", "files"))
    return listed or sum(bool(extra.get(key)) for key in ("image", "video", "file"))


def _written(value: Any) -> str:
    """What a string holds, or any other value as JSON; of one nested too deeply, nothing."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value)
