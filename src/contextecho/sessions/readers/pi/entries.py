"""What one entry of a pi session says, in pieces.

The one thing to know: user messages are a human's, but the client puts the text of files
(`@file`) and of skills (`/skill:name`) in front of the typed words. Those blocks, the
human's `!` commands with their output, and messages of extensions are the client's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from contextecho.sessions.building.chat_parts import blocks_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import string, text_in
from contextecho.sessions.building.jsontext import compact_json
from contextecho.sessions.model import Kind, Speaker

SUMMARIES: Final = ("compaction", "branch_summary")  # a tuple: what a file holds may not hash
_IN_FRONT = re.compile(
    r'\s*(?:<file name="[^"\n]*">.*?</file>|<skill name="[^"\n]*"[^>\n]*>\n.*?\n</skill>)\s*',
    re.DOTALL,
)


def message_of(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The message in an entry, or in an event of `pi --mode json`, if it is one."""
    if entry.get("type") == "custom_message":
        return {"role": "custom", "content": entry.get("content")}
    message, is_one = entry.get("message"), entry.get("type") in ("message", "message_end")
    return message if is_one and isinstance(message, dict) else None


def pieces_of(entry: dict[str, Any]) -> list[Piece]:
    """The pieces of an entry; none for one that says nothing."""
    if entry.get("type") in SUMMARIES:
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, text_in(entry, "summary"))]
    message = message_of(entry)
    make = _MAKERS.get(str(message.get("role"))) if message is not None else None
    return list(make(message)) if make is not None and message is not None else []


def knows(message: dict[str, Any]) -> bool:
    """Whether the message's role is one that this version reads."""
    return str(message.get("role")) in _MAKERS


def _answer(message: dict[str, Any]) -> Iterator[Piece]:
    for block in blocks_of(message):
        kind, text = block.get("type"), string(block, "text")
        thought = string(block, "thinking")
        if kind == "thinking" and thought and thought.strip():
            yield Piece(Kind.THINKING, Speaker.MODEL, thought)
        elif kind == "text" and text and text.strip():
            yield Piece(Kind.ASSISTANT, Speaker.MODEL, text)
        elif kind == "toolCall":
            arguments = compact_json(block.get("arguments"))
            name, call_id = string(block, "name"), string(block, "id")
            yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, call_id)


def _prompt(message: dict[str, Any]) -> Iterator[Piece]:
    """What stands in front of the human's words, and those words."""
    text, images = _spoken(message)
    end = 0
    while block := _IN_FRONT.match(text, end):
        end = block.end()
    typed = bool(text[end:].strip())
    if end:
        yield Piece(Kind.USER, Speaker.HARNESS, text[:end], images=0 if typed else images)
    if typed or (images and not end):
        yield Piece(Kind.USER, Speaker.HUMAN, text[end:], images=images)


def _of_the_client(message: dict[str, Any]) -> Iterator[Piece]:
    text, images = _spoken(message)
    if text.strip() or images:
        yield Piece(Kind.USER, Speaker.HARNESS, text, images=images)


def _command(message: dict[str, Any]) -> Iterator[Piece]:
    """A shell command of the human's and its output, which the model is shown."""
    if message.get("excludeFromContext") is True:
        return
    output = string(message, "output")
    shown = f"```\n{output}\n```" if output else "(no output)"
    yield Piece(Kind.USER, Speaker.HARNESS, f"Ran `{string(message, 'command')}`\n{shown}")


def _result(message: dict[str, Any]) -> Iterator[Piece]:
    text, images = _spoken(message)
    yield Piece(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        text,
        string(message, "toolName"),
        string(message, "toolCallId"),
        images,
        is_error=message.get("isError") is True,
    )


_MAKERS: Final[dict[str, Callable[[dict[str, Any]], Iterator[Piece]]]] = {
    "user": _prompt,
    "assistant": _answer,
    "toolResult": _result,
    "bashExecution": _command,
    "custom": _of_the_client,
    "hookMessage": _of_the_client,
    "system": _of_the_client,
}


def _spoken(message: dict[str, Any]) -> tuple[str, int]:
    """The text of a message, and how many pictures it has."""
    blocks = blocks_of(message)
    texts = [text_in(block, "text") for block in blocks if block.get("type") == "text"]
    return "\n".join(texts), sum(block.get("type") == "image" for block in blocks)
