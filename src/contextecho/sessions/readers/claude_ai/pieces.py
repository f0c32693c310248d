"""What one message of a Claude.ai conversation says, in pieces.

The one thing to know: `content` holds the blocks, and `text` the words of old exports that
have none. What was pasted or attached is text beside the words; where nothing was typed,
it is what the human wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from contextecho.sessions.building.chat_parts import text_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import (
    filled,
    list_in,
    object_in,
    objects_in,
    string,
    text_in,
)
from contextecho.sessions.building.jsontext import compact_json
from contextecho.sessions.model import Kind, Speaker

SENDERS: Final = ("human", "assistant")
BLOCKS: Final = ("text", "thinking", "tool_use", "tool_result")


def pieces_of(message: Any) -> list[Piece]:
    """The pieces of a message; none of one that says nothing."""
    sender = string(message, "sender")
    if sender == "human":
        return list(_prompt(message))
    return list(_answer(message)) if sender == "assistant" else []


def _prompt(message: dict[str, Any]) -> Iterator[Piece]:
    """What was attached, and the human's words."""
    typed = _words(message)
    pasted = [text_in(one, "extracted_content") for one in objects_in(message, "attachments")]
    pasted = [text for text in pasted if text.strip()]
    images = len(list_in(message, "files"))
    if typed.strip() or not pasted:
        yield from (Piece(Kind.USER, Speaker.HARNESS, text) for text in pasted)
    else:
        typed = "\n\n".join(pasted)
    if typed.strip() or images:
        yield Piece(Kind.USER, Speaker.HUMAN, typed, images=images)


def _answer(message: dict[str, Any]) -> Iterator[Piece]:
    blocks = objects_in(message, "content")
    if not blocks and (text := _words(message)).strip():
        yield Piece(Kind.ASSISTANT, Speaker.MODEL, text)
    for block in blocks:
        kind, text = string(block, "type"), text_in(block, "text")
        if kind == "text" and text.strip():
            yield Piece(Kind.ASSISTANT, Speaker.MODEL, text)
        elif kind == "thinking" and (thought := text_in(block, "thinking")).strip():
            yield Piece(Kind.THINKING, Speaker.MODEL, thought)
        elif kind == "tool_use":
            arguments = compact_json(object_in(block, "input"))
            name, call_id = filled(block, "name"), filled(block, "id")
            yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, call_id)
        elif kind == "tool_result":
            yield _result(block)


def _result(block: dict[str, Any]) -> Piece:
    text, images = text_of(block.get("content"))
    return Piece(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        text,
        filled(block, "name"),
        filled(block, "tool_use_id"),
        images,
        is_error=block.get("is_error") is True,
    )


def _words(message: dict[str, Any]) -> str:
    """The words in the blocks, or those of a message without any."""
    blocks = objects_in(message, "content")
    texts = [text_in(block, "text") for block in blocks if block.get("type") == "text"]
    return "\n".join(texts) if any(text.strip() for text in texts) else text_in(message, "text")
