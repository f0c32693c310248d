"""What a message in the form of a chat API holds: text, pictures, tool calls.

The one thing to know: many agents keep the API's messages inside a format of their own,
so their readers share this with `chat`. Nothing here raises on odd shapes: what is no
text is left out, and what is no text block is counted as a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import list_in, objects_in, string, text_in
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker

_SPOKEN: Final = frozenset({"text", "input_text", "output_text", "refusal"})


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of a message as blocks, whatever form it has."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_in(content)


def text_of(content: Any) -> tuple[str, int]:
    """The text of a message's content, and how many pictures and files it leaves out."""
    if isinstance(content, str):
        return content, 0
    texts: list[str] = []
    images = 0
    for block in list_in(content):
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, dict):
            continue
        elif string(block, "type") in _SPOKEN:
            texts.append(string(block, "text") or text_in(block, "refusal"))
        else:
            images += 1
    return "\n".join(texts), images


def reasoning_of(message: dict[str, Any]) -> list[Piece]:
    """The reasoning that came with a message; blocks repeat `reasoning_content`, if it is there."""
    thoughts = [string(block, "thinking") for block in list_in(message, "thinking_blocks")]
    texts = [string(message, "reasoning_content")]
    texts = texts if texts[0] else thoughts
    return [Piece(Kind.THINKING, Speaker.MODEL, text) for text in texts if text]


def tool_calls(message: dict[str, Any]) -> Iterator[Piece]:
    """Tool calls, in the present form and the old one."""
    for call in objects_in(message, "tool_calls"):
        if isinstance(call.get("function"), dict):
            yield call_of(call["function"], string(call, "id"))
    if isinstance(message.get("function_call"), dict):
        yield call_of(message["function_call"], None)


def call_of(function: dict[str, Any], call_id: str | None) -> Piece:
    """The call of a function: its `name` and its `arguments`, written as JSON."""
    arguments = function.get("arguments")
    text = json_text(arguments) if isinstance(arguments, dict) else arguments
    text = text if isinstance(text, str) else ""
    return Piece(Kind.TOOL_CALL, Speaker.MODEL, text, string(function, "name"), call_id)
