"""The content blocks of Anthropic's Messages API, as pieces of a conversation.

The one thing to know: a user message can hold tool results beside the human's text, and
the model's message can hold calls of tools that the provider ran, with their results.
`cache_control` and citations are no content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from contextecho.sessions.building.chat_parts import blocks_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import objects_in, string, text_in
from contextecho.sessions.building.jsontext import compact_json
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.claude_code.records import Record
from contextecho.sessions.readers.claude_code.speakers import speak

ROLES: Final = ("user", "assistant", "system")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_PICTURES: Final = ("image", "document", "container_upload")
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_UNFLAGGED: Final = Record()  # requests have none of the flags of Claude Code's records


def is_message(value: Any) -> bool:
    """Whether this is a message: a role, and content."""
    return isinstance(value, dict) and value.get("role") in ROLES and "content" in value


def is_telling(message: dict[str, Any]) -> bool:
    """Whether a message could be no other API's."""
    blocks = blocks_of(message)
    if not isinstance(message.get("content"), list) or not all(map(_is_known, blocks)):
        return False
    if message.get("type") == "message" or "stop_reason" in message:
        return message.get("role") == "assistant"
    return any(is_telling_block(block) for block in blocks)


def is_telling_block(block: dict[str, Any]) -> bool:
    """Whether a content block could be no other API's."""
    kind = block.get("type")
    return (
        (kind in _CALLS and "input" in block)
        or (_is_result(kind) and "tool_use_id" in block)
        or (kind == "thinking" and "signature" in block)
        or (kind == "redacted_thinking" and "data" in block)
        or (kind in _PICTURES and isinstance(block.get("source"), dict))
    )


def pieces_of(message: Any) -> list[Piece]:
    """The pieces of a message, in the order of its blocks."""
    if not is_message(message):
        return []
    make = _of_model if message["role"] == "assistant" else _to_model
    return list(make(message))


def left_out(message: dict[str, Any]) -> Iterator[str]:
    """What a message holds that is no piece of it, in a phrase each."""
    if not pieces_of(message):
        yield "empty message"
    for block in blocks_of(message):
        kind = block.get("type")
        if kind == "redacted_thinking":
            yield "redacted thinking"
        elif kind == "thinking" and not string(block, "thinking"):
            yield "thinking without text"
        elif not _is_known(block):
            yield f"unknown content block: {kind}"


def _of_model(message: dict[str, Any]) -> Iterator[Piece]:
    blocks = blocks_of(message)
    kinds = [block.get("type") for block in blocks]
    calls = any(kind in ("tool_use", "mcp_tool_use") for kind in kinds)
    paused = calls or message.get("stop_reason") in ("tool_use", "pause_turn")
    served = (i for i, kind in enumerate(kinds) if kind in _CALLS or _is_result(kind))
    last_served = max(served, default=-1)
    for place, block in enumerate(blocks):
        text, thought = string(block, "text"), string(block, "thinking")
        if kinds[place] == "thinking" and thought:
            yield Piece(Kind.THINKING, Speaker.MODEL, thought)
        elif kinds[place] == "text" and text and text.strip():
            final = not paused and place > last_served
            yield Piece(Kind.ASSISTANT, Speaker.MODEL, text, final=final)
        elif kinds[place] in _CALLS:
            arguments = compact_json(block.get("input"))
            name, id = string(block, "name"), string(block, "id")
            yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, id)
        elif _is_result(kinds[place]):
            yield _result(block)


def _to_model(message: dict[str, Any]) -> Iterator[Piece]:
    blocks = blocks_of(message)
    pictures = sum(block.get("type") in _PICTURES for block in blocks)
    for block in blocks:
        text = text_in(block, "text")
        if _is_result(block.get("type")):
            yield _result(block)
        elif block.get("type") == "text" and text.strip():
            for piece in _words(text, message["role"]):
                if piece.speaker is Speaker.HUMAN:
                    piece.images, pictures = pictures, 0
                yield piece
    if pictures:
        yield Piece(Kind.USER, Speaker.HUMAN, images=pictures)


def _words(text: str, role: str) -> Iterator[Piece]:
    """A text to the model: the human's words, what Claude Code put before them, or its own."""
    speaker, words = speak(_UNFLAGGED, text) if role == "user" else (Speaker.HARNESS, text)
    before = text.rstrip().removesuffix(words) if speaker is Speaker.HUMAN else ""
    if before.strip() and text.startswith(before + words):
        yield Piece(Kind.USER, Speaker.HARNESS, before)
    kind = Kind.SUMMARY if speaker is Speaker.SUMMARISER else Kind.USER
    yield Piece(kind, speaker, words)


def _result(block: dict[str, Any]) -> Piece:
    content = block.get("content")
    parts = content if isinstance(content, list) else [content]
    inside = objects_in(parts)
    failed = any(str(part.get("type")).endswith("_error") for part in inside)
    return Piece(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        "\n".join(text for part in parts if (text := _result_text(part))),
        call_id=string(block, "tool_use_id"),
        images=sum(part.get("type") in _PICTURES for part in inside),
        is_error=block.get("is_error") is True or failed,
    )


def _result_text(part: Any) -> str:
    """The words of one part of a result, of a tool of the client's or of the provider's."""
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    keys = ("text", "title", "url", "stdout", "stderr", "error_code")
    return "\n".join(found for key in keys if (found := string(part, key)))


def _is_result(kind: Any) -> bool:
    return isinstance(kind, str) and (kind == "tool_result" or kind.endswith("_tool_result"))


def _is_known(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    return kind in ("text", *_CALLS, *_PICTURES, *_THOUGHTS) or _is_result(kind)
