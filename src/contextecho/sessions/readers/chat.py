"""Reads plain chat messages: a JSON array, an object with `messages`, or JSON lines.

The one thing to know: each element is a message with a `role`; a file of JSON
lines holds one message a line, or one conversation a line (then each is a session of
its own, named by its line). An array of objects with `messages` holds a session in each,
named by its number. The format does not tell human text from a client's: every user
message counts as a prompt. A conversation is read whole, since it has no lines to go by;
the index keeps no text, like every reader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from contextecho.sessions.building.chat_parts import text_of, tool_calls
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import string
from contextecho.sessions.building.jsontext import BROKEN, decode_json, elements
from contextecho.sessions.building.placed import Document, Placed, PlacedSource, placed_lines
from contextecho.sessions.building.records import array_elements, export_at, first_record
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Kind, Session, Speaker

NAME: Final = "chat"
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_INSTRUCTIONS: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})
_PEEK: Final = 64
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"

_outline = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def sniff(head: bytes) -> bool:
    """Whether the file begins with a message that has a role and content."""
    if _is_message_line(_first_line(head)):
        return True
    document = Document(head)
    where = _array(document)
    found = () if where is None else document.elements(*where, tally=Tally())
    return any(is_message(placed.value) for placed in found) or _begins_conversation(head)


def members(path: Path) -> list[str]:
    """The lines or elements that hold a conversation each; one name for a file that is one."""
    with path.open("rb") as file:
        if _is_array_of_conversations(file):
            return list(export_at(path, _look_at).places.number_of)
        lines = [str(n) for n, line in enumerate(file, 1) if line.strip() and _holds(line)]
    return lines or ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        source = PlacedSource(path, stamp, pieces_of)
        conversation = Conversation()
        for found in _messages(path, file, stamp.size, member, conversation):
            source.place(found)
            _say(conversation, found)
    return conversation.session(path, format=NAME, bytes=stamp.size, source=source)


def _messages(
    path: Path, file: BinaryIO, end: int, member: str, conversation: Conversation
) -> Iterator[Placed]:
    """The messages of one conversation, placed; what is none is counted."""
    tally = conversation.tally
    found: Iterator[Placed]
    if _is_array_of_conversations(file):
        found = export_at(path, _look_at).read(member).elements("messages", tally=tally)
    elif _is_message_line(first := _first_line(file.read(end))):
        file.seek(0)
        found = placed_lines(file, end, tally, is_message, ("role", "content"))
    else:
        file.seek(0)
        document = _one_line(file, int(member)) if _holds(first) else Document(file.read(end))
        found = document.elements(*_array(document) or (), tally=tally)
    for placed in found:
        if is_message(placed.value):
            yield placed
        else:
            tally.add("not a message", placed.line)


def _is_array_of_conversations(file: BinaryIO) -> bool:
    """Whether the file is an array of which the first element is an object with `messages`."""
    found = file.read(_PEEK).lstrip(_BLANK).startswith(b"[")
    file.seek(0)
    end = Stamp.of(file).size
    first = next((data for _, _, data in array_elements(file, end)), b"") if found else b""
    file.seek(0)
    return Document(first).has_array("messages")


def _begins_conversation(head: bytes) -> bool:
    """Whether the first object has `messages` that begin with one, however it goes on."""
    text, places = first_record(head)
    start = places.get("messages", len(text))
    inside = elements(text, start) if text.startswith("[", start) else iter(())
    return any(is_message(value) for _, _, value in inside)


def _look_at(data: bytes) -> tuple[bool, None]:
    """Whether an element holds a conversation; it is named by its number."""
    return Document(data).has_array("messages"), None


def _one_line(file: BinaryIO, wanted: int) -> Document:
    """The conversation that one line holds."""
    offset = 0
    for number, line in enumerate(file, 1):
        if number == wanted:
            return Document(line, offset)
        offset += len(line)
    return Document(b"")


def _first_line(data: bytes) -> bytes:
    """The first line that is not blank."""
    return next((line for line in data.split(b"\n", 64) if line.strip()), b"")


def _array(document: Document) -> tuple[str, ...] | None:
    """Where the array of messages is: the document itself, or its `messages`."""
    return next((keys for keys in ((), ("messages",)) if document.has_array(*keys)), None)


def _holds(line: bytes) -> bool:
    """Whether a line is a whole conversation by itself."""
    document = Document(line)
    if not document.is_whole and decode_json(line) is BROKEN:
        return False
    where = _array(document)
    found = () if where is None else document.elements(*where, tally=Tally())
    return any(is_message(placed.value) for placed in found)


def _is_message_line(line: bytes) -> bool:
    """Whether a line is one message; what a conversation says is not decoded for that."""
    if line.lstrip(_BLANK).startswith(b"["):
        return False
    try:
        outline: dict[str, Any] = {**_outline(line)}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return is_message(decode_json(line))
    outline["role"] = decode_json(bytes(outline.get("role", b"null")))
    return is_message(outline)


def is_message(value: Any) -> bool:
    """Whether this is a chat message: a known role, and something said or called."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and role_of(value) in _ROLES
        and not value.keys().isdisjoint({"content", "tool_calls", "function_call"})
    )


def role_of(message: dict[str, Any]) -> str:
    """Who speaks; capital letters do not matter."""
    return str(message["role"]).lower()


def _say(conversation: Conversation, found: Placed) -> None:
    """Take in one message; the instructions before anything is said are the system prompt."""
    role, model = role_of(found.value), string(found.value, "model")
    pieces = pieces_of(found.value)
    if not pieces:
        conversation.tally.add("empty message", found.line)
    if role in _INSTRUCTIONS and not conversation.turns:
        conversation.system += [piece.text for piece in pieces]
        return
    conversation.say(Message(line=found.line, span=found.span, pieces=pieces, model=model))


def pieces_of(message: dict[str, Any]) -> list[Piece]:
    """The pieces of a message, in the order in which they were produced."""
    role = role_of(message)
    text, images = text_of(message.get("content"))
    if role in _RESULTS:
        call_id, name = string(message, "tool_call_id"), string(message, "name")
        return [Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, images)]
    if role != "assistant":
        speaker = Speaker.HARNESS if role in _INSTRUCTIONS else Speaker.HUMAN
        said = text.strip() or images
        return [Piece(Kind.USER, speaker, text, images=images)] if said else []
    pieces = []
    thought = string(message, "reasoning_content") or string(message, "reasoning")
    if thought:
        pieces.append(Piece(Kind.THINKING, Speaker.MODEL, thought))
    if text.strip():
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, text))
    return [*pieces, *tool_calls(message)]
