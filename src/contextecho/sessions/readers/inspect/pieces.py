"""What one message of a sample says, piece by piece.

The one thing to know: the pieces depend on the message alone, so that they can be
loaded again; who typed a user message is told by its neighbours, in `samples`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import list_in, objects_in, string, text_in
from contextecho.sessions.building.jsontext import compact_json
from contextecho.sessions.model import Kind, Speaker

_MEDIA: Final = frozenset({"image", "audio", "video", "document"})
_READ: Final = _MEDIA | {"text", "reasoning", "tool_use"}
_ROLES: Final = {"user": Kind.USER, "system": Kind.USER, "assistant": Kind.ASSISTANT}


def is_message(value: Any) -> bool:
    """Whether this is a message of a role that Inspect knows."""
    return isinstance(value, dict) and value.get("role") in (*_ROLES, "tool")


def is_summary(value: Any) -> bool:
    """Whether this is the summary that a compaction left in place of what it summarises."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and "summary" in metadata and value.get("role") == "user"


def pieces_of(message: dict[str, Any]) -> list[Piece | None]:
    """The pieces of a message, in the order in which they were produced."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        return [_result(message, content)]
    blocks = content if isinstance(content, list) else [content]
    if role != "assistant":
        texts, images = _joined(blocks)
        said = texts.strip() or images
        return [Piece(Kind.USER, Speaker.HARNESS, texts, images=images)] if said else []
    before = string(message, "reasoning")  # where older logs have it
    thought = [Piece(Kind.THINKING, Speaker.MODEL, before)] if before else []
    return [*thought, *_spoken(blocks), *_calls(message.get("tool_calls"))]


def unread_types(message: dict[str, Any]) -> Iterator[str]:
    """The types of content that become no part of any piece."""
    for block in list_in(message, "content"):
        type = block.get("type") if isinstance(block, dict) else None
        if type not in _READ and not isinstance(block, str):
            yield str(type)


def text_of(content: Any) -> str:
    """The text of a message's content."""
    return _joined(content if isinstance(content, list) else [content])[0]


def _spoken(blocks: list[Any]) -> Iterator[Piece | None]:
    """What the model said and thought, and the tools that its provider ran for it."""
    for block in blocks:
        type = block.get("type") if isinstance(block, dict) else "text"
        if type == "reasoning":
            thought = _thought(block)
            yield Piece(Kind.THINKING, Speaker.MODEL, thought) if thought else None
        elif type == "tool_use":
            yield from _provider_tool(block)
        else:
            text, images = _joined([block])
            said = text.strip() or images
            yield Piece(Kind.ASSISTANT, Speaker.MODEL, text, images=images) if said else None


def _thought(block: dict[str, Any]) -> str:
    """The words of a thought; of one that is encrypted, its summary if there is one."""
    key = "summary" if block.get("redacted") else "reasoning"
    return string(block, key) or text_in(block, "summary")


def _provider_tool(block: dict[str, Any]) -> Iterator[Piece]:
    name, id = string(block, "name"), string(block, "id")
    arguments = text_in(block, "arguments")
    yield Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, name, id)
    error = string(block, "error")
    text = error or text_in(block, "result")
    yield Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, id, is_error=bool(error))


def _calls(calls: Any) -> Iterator[Piece]:
    for call in objects_in(calls):
        arguments = call.get("arguments")
        text = arguments if isinstance(arguments, str) else _json(arguments)
        name, id = string(call, "function"), string(call, "id")
        yield Piece(Kind.TOOL_CALL, Speaker.MODEL, text, name, id)


def _json(arguments: Any) -> str:
    return "" if arguments is None else compact_json(arguments)


def _result(message: dict[str, Any], content: Any) -> Piece:
    """A tool's result; of a call that failed, the error, which is what the model was shown."""
    text, images = _joined(content if isinstance(content, list) else [content])
    error = message.get("error")
    if isinstance(error, dict):
        text = string(error, "message") or text
    name, id = string(message, "function"), string(message, "tool_call_id")
    return Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, id, images, is_error=bool(error))


def _joined(blocks: list[Any]) -> tuple[str, int]:
    """The texts among the blocks, and how many pictures and files there are."""
    texts, images = [], 0
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            texts.append(text_in(block, "text"))
        elif isinstance(block, dict) and block.get("type") in _MEDIA:
            images += 1
    return "\n".join(texts), images
