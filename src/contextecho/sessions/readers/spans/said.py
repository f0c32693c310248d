"""Messages to and from a model, as spans write them down, in pieces.

The one thing to know: every schema's message is first made one of role and content
(blocks of the kinds below, calls beside them), so that this is the only place where
pieces are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.chat_parts import text_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import string, under
from contextecho.sessions.building.jsontext import compact_json
from contextecho.sessions.model import Kind, Speaker

_ROLES: Final = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "aimessagechunk"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
_THOUGHTS: Final = ("thinking", "reasoning")


class Said(Struct, gc=False):
    """One message: the role that the schema gives it, and what it holds."""

    role: str
    pieces: list[Piece]


class Exchange(Struct, gc=False):
    """What a call of a model says: its instructions, the history, and the answer."""

    instructions: str | None
    history: list[Said]
    answer: list[Said]
    choices: int  # of which the first is the answer

    def pieces(self) -> list[Piece]:
        """All pieces, in the order by which a turn finds its own again."""
        return [piece for said in (*self.history, *self.answer) for piece in said.pieces]


def exchange(
    history: list[dict[str, Any]], answer: list[dict[str, Any]], instructions: str | None = None
) -> Exchange:
    """The exchange of these messages; the first choice is the answer.

    Instructions that stand at the head of the history are taken out of it.
    """
    heard = [one for one in map(said, history) if one.pieces]
    begin = next((i for i, one in enumerate(heard) if one.role != "system"), len(heard))
    texts = [piece.text for one in heard[:begin] for piece in one.pieces]
    head = [text for text in (instructions, *texts) if text]
    return Exchange(
        "\n\n".join(head) or None,
        heard[begin:],
        [said(message | {"role": "assistant"}) for message in answer[:1]],
        len(answer),
    )


def said(message: dict[str, Any]) -> Said:
    """One message of role and content; calls are in `tool_calls`, or among the blocks."""
    role = _ROLES.get(str(message.get("role")).lower(), "other")
    blocks = _blocks(message.get("content"))
    if role == "assistant":
        return Said(role, list(_of_model(message, blocks)))
    answered = [block for block in blocks if block.get("type") == "tool_result"]
    text, images = text_of([block for block in blocks if block.get("type") != "tool_result"])
    results = [_result(block) for block in answered]
    if role == "tool" and not answered:
        call_id, name = string(message, "tool_call_id"), string(message, "name")
        results = [Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, name, call_id, images)]
    elif text.strip() or images:
        speaker = Speaker.HUMAN if role == "user" else Speaker.HARNESS
        results.append(Piece(Kind.USER, speaker, text, images=images))
    return Said(role, results)


def _of_model(message: dict[str, Any], blocks: list[dict[str, Any]]) -> Iterator[Piece]:
    used = [block for block in blocks if block.get("type") == "tool_use"]
    thoughts = [_thought(block) for block in blocks if block.get("type") in _THOUGHTS]
    for thought in (string(message, "reasoning_content"), *thoughts):
        if thought and thought.strip():
            yield Piece(Kind.THINKING, Speaker.MODEL, thought)
    text, images = text_of([b for b in blocks if b.get("type") not in (*_THOUGHTS, "tool_use")])
    if text.strip() or images:
        yield Piece(Kind.ASSISTANT, Speaker.MODEL, text, images=images)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) and calls else used:
        if isinstance(call, dict):
            yield _call(call)


def _thought(block: dict[str, Any]) -> str | None:
    texts = (string(block, key) for key in (*_THOUGHTS, "text", "content"))
    return next((text for text in texts if text), None)


def _call(call: dict[str, Any]) -> Piece:
    """A call, with its function inside or beside its id, and its arguments as text or not."""
    function = under(call, "function")
    function = function if isinstance(function, dict) else call
    found = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    text = found if isinstance(found, str) else compact_json(found)
    id = string(call, "id")
    return Piece(Kind.TOOL_CALL, Speaker.MODEL, text, string(function, "name"), id)


def _result(block: dict[str, Any]) -> Piece:
    content = block.get("content")
    blocks = _blocks(content)
    text, images = text_of(blocks)
    if not blocks and content is not None:
        text = compact_json(content)
    call_id, failed = string(block, "tool_use_id"), block.get("is_error") is True
    return Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, None, call_id, images, is_error=failed)


def _blocks(content: Any) -> list[dict[str, Any]]:
    """Content as blocks, whatever form it has."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block
        for block in blocks
        if isinstance(block, str | dict)
    ]
