"""What one node of a ChatGPT conversation says, in pieces.

The one thing to know: the role is not who speaks. Custom instructions and hidden messages
have the user's role, and the client's memory has the model's; nobody typed or said them.
A message of the model whose `recipient` is not "all" is a call of that tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import filled, number_in, object_in, text_in, under
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.chatgpt.content import (
    instructions_of,
    kind_of,
    thoughts_of,
    words_of,
)

_ROLES: Final = ("system", "user", "assistant", "tool")
_CONTEXTS: Final = ("user_editable_context", "model_editable_context")
_SPOKEN: Final = ("text", "multimodal_text", "code", "")
_RECAP: Final = "reasoning_recap"
_OF_TOOLS: Final = (
    *("execution_output", "computer_output", "system_error"),
    *("tether_quote", "tether_browsing_display", "sonic_webpage"),
)
_KNOWN: Final = (*_CONTEXTS, *_SPOKEN, *_OF_TOOLS, "thoughts", _RECAP)
_CUT_SHORT: Final = ("interrupted", "max_tokens")
_UNFINISHED: Final = ("in_progress", "finished_partial_completion")
_FINAL: Final = {"final": True, "commentary": False}


def message_of(node: Any) -> dict[str, Any]:
    """The message of a node; an empty one where it has none."""
    return object_in(node, "message")


def role_of(message: dict[str, Any]) -> str:
    """Whose role the file gives to a message."""
    return text_in(message, "author", "role")


def pieces_of(node: Any) -> list[Piece]:
    """The pieces of a node; none of one that says nothing."""
    message = message_of(node)
    role = role_of(message)
    if is_instruction(message):
        return _of_the_client(instructions_of(message), 0)
    if role == "user":
        text, images = words_of(message)
        if is_hidden(message):
            return _of_the_client(text, images)
        return [Piece(Kind.USER, Speaker.HUMAN, text, images=images)] if text or images else []
    if role == "tool":
        return [_result(message)]
    return list(_answer(message)) if role == "assistant" else []


def is_instruction(message: dict[str, Any]) -> bool:
    """Whether the client puts a message before a conversation."""
    is_users = under(message, "metadata", "is_user_system_message") is True
    return is_users or role_of(message) == "system" or kind_of(message) in _CONTEXTS


def is_hidden(message: dict[str, Any]) -> bool:
    """Whether a message was not shown to the human."""
    hidden = under(message, "metadata", "is_visually_hidden_from_conversation") is True
    return hidden or number_in(message, "weight") == 0


def is_broken_off(message: dict[str, Any]) -> bool:
    """Whether an answer is only a part of one, as the file says."""
    how = text_in(message, "metadata", "finish_details", "type")
    return how in _CUT_SHORT or text_in(message, "status") in _UNFINISHED


def left_out(message: dict[str, Any], pieces: Sequence[Piece]) -> str | None:
    """Why a message says nothing; None for one that does, and for a result that is empty."""
    if any(piece.text.strip() or piece.images for piece in pieces):
        return None
    role, kind = role_of(message), kind_of(message)
    if role not in _ROLES:
        return f"unknown role: {role}"
    if kind not in _KNOWN:
        return f"unknown content: {kind}"
    if kind == _RECAP:
        return "recap of the reasoning, which the client wrote"
    return None if pieces else "empty message"


def _of_the_client(text: str, images: int) -> list[Piece]:
    said = text.strip() or images
    return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)] if said else []


def _answer(message: dict[str, Any]) -> Iterator[Piece]:
    kind, recipient = kind_of(message), filled(message, "recipient") or "all"
    text, images = words_of(message)
    if kind == "thoughts":
        if thoughts := thoughts_of(message):
            yield Piece(Kind.THINKING, Speaker.MODEL, thoughts)
    elif kind == _RECAP:
        return
    elif recipient != "all":
        yield Piece(Kind.TOOL_CALL, Speaker.MODEL, text, recipient)
    elif kind in _SPOKEN and (text.strip() or images):
        final = _FINAL.get(text_in(message, "channel"))
        if is_hidden(message) or is_broken_off(message):
            final = False
        yield Piece(Kind.ASSISTANT, Speaker.MODEL, text, images=images, final=final)


def _result(message: dict[str, Any]) -> Piece:
    text, images = words_of(message)
    is_error = kind_of(message) == "system_error"
    tool = filled(message, "author", "name")
    return Piece(Kind.TOOL_RESULT, Speaker.TOOL, text, tool, images=images, is_error=is_error)
