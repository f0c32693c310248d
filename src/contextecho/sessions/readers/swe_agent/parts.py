"""The pieces of a history entry and of a trajectory step.

The one thing to know: an answer is a thought and an action. The prose is the thought, not
`content`, which in the older form holds the action once more; without a thought of its
own beside it, the action is all there is. A step's pieces stand in fixed places, since a
step always has the same four parts; the messages of its query follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contextecho.sessions.building.chat_parts import reasoning_of, text_of, tool_calls
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import string, text_in
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker

ACTION: Final = "action"
"""What a call is named that is a command line, in files from before function calling."""
ANSWER_PARTS: Final = 3
"""Of a step: the reasoning, the prose, the action; then comes the observation."""
FIRST_QUERIED: Final = 4
"""The part of a step from which on the messages of its query are counted."""

_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})


def is_entry(value: Any) -> bool:
    """Whether this is an entry of the history: a message, and whose it is."""
    return (
        isinstance(value, dict)
        and string(value, "role") in _ROLES
        and "content" in value
        and isinstance(value.get("agent"), str)
    )


def is_step(value: Any) -> bool:
    """Whether this is a step of the trajectory: an action, and what came of it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("action"), str)
        and isinstance(value.get("observation"), str)
        and not value.keys().isdisjoint({"response", "thought"})
    )


def pieces_of(value: dict[str, Any]) -> list[Piece]:
    """What an entry or a step holds; who said it, and whether it counts, is for the caller."""
    return entry_pieces(value) if is_entry(value) else step_pieces(value)


def entry_pieces(entry: dict[str, Any]) -> list[Piece]:
    """The pieces of an entry; whatever is no answer is one text."""
    text, images = text_of(entry["content"])
    if entry["role"] != "assistant" or entry.get("is_demo"):
        return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)]
    pieces = reasoning_of(entry)
    prose = _prose(string(entry, "thought"), string(entry, "action"), text)
    if prose.strip():
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, prose))
    calls = list(tool_calls(entry)) or [_command(entry.get("action"))]
    return [*pieces, *(call for call in calls if call.text)]


def step_pieces(step: dict[str, Any]) -> list[Piece]:
    """The pieces of a step, empty where it has none, and the texts of its query."""
    prose = _prose(string(step, "thought"), string(step, "action"), text_in(step, "response"))
    return [
        Piece(Kind.THINKING, Speaker.MODEL, text_in(step, "reasoning_content")),
        Piece(Kind.ASSISTANT, Speaker.MODEL, prose if prose.strip() else ""),
        _command(step.get("action")),
        Piece(Kind.TOOL_RESULT, Speaker.TOOL, text_in(step, "observation")),
        *(
            Piece(Kind.USER, Speaker.HARNESS, text, images=images)
            for text, images in (text_of(message.get("content")) for message in query_of(step))
        ),
    ]


def query_of(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages that the model was sent before this step, where the file has them."""
    for key in ("query", "messages"):
        if isinstance(found := step.get(key), list):
            return [message for message in found if isinstance(message, dict)]
    return []


def _prose(thought: str | None, action: str | None, text: str) -> str:
    """What the model said beside its action; a parser that tells no thought repeats the action."""
    if not (action or "").strip():
        return text or thought or ""
    said = text if thought is None else thought
    return "" if said.strip() == (action or "").strip() else said


def _command(action: Any) -> Piece:
    text = action if isinstance(action, str) and action.strip() else None
    arguments = "" if text is None else json_text({ACTION: text})
    return Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, ACTION)
