"""What one event of OpenHands' SDK (V1) holds; `kind` says what it is.

The one thing to know: an action's prose, reasoning and call are one event, and parallel
calls of one answer are several with one `llm_response_id`, of which only the first has
prose. What the client adds to a person's message stands beside it, never in it.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.building.chat_parts import (
    call_of,
    reasoning_of,
    text_of,
)
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import object_in, string, text_in
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker

QUIET: Final = frozenset(
    {"CondensationRequest", "ConversationErrorEvent", "ConversationStateUpdateEvent"}
    | {"HookExecutionEvent", "InterruptEvent", "LLMCompletionLogEvent", "PauseEvent"}
    | {"StreamingDeltaEvent", "TokenEvent"}
)
"""The client's own events, which are not said to anyone as they stand."""
FINISH: Final = "finish"
_REJECTED: Final = frozenset(
    {"", "User rejected", "User rejected the action", "User rejected the actions"}
)
"""Reasons that the client writes where a person gave none."""


def is_event(value: Any) -> bool:
    """Whether this is an event: a kind, an id, a time, and where it comes from."""
    return isinstance(value, dict) and all(
        isinstance(value.get(key), str) for key in ("kind", "id", "timestamp", "source")
    )


def pieces_of(event: dict[str, Any]) -> list[Piece]:
    """The pieces of an event that says something."""
    kind = event["kind"]
    if kind == "MessageEvent":
        return _message(event)
    if kind == "ActionEvent":
        return _action(event)
    if kind == "ObservationEvent":
        return [_observation(event), *_added(event)]
    if kind == "AgentErrorEvent":
        return [_result(event, text_in(event, "error"), is_error=True)]
    if kind == "UserRejectObservation":
        return _rejection(event)
    if kind in ("Condensation", "CondensationSummaryEvent"):
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, text_in(event, "summary"))]
    if kind == "SystemPromptEvent":
        blocks = [event.get("system_prompt"), event.get("dynamic_context")]
        return [Piece(Kind.USER, Speaker.HARNESS, text_in(b, "text")) for b in blocks if b]
    return []


def _message(event: dict[str, Any]) -> list[Piece]:
    """A message and what the client added to it."""
    message = object_in(event, "llm_message")
    text, images = text_of(message.get("content"))
    pieces = []
    if event["source"] == "agent":
        pieces += reasoning_of(message)
        kind, speaker = Kind.ASSISTANT, Speaker.MODEL
    else:
        typed = event["source"] == "user" and event.get("sender") is None
        kind, speaker = Kind.USER, Speaker.HUMAN if typed else Speaker.HARNESS
    if text.strip() or images:
        pieces.append(Piece(kind, speaker, text, images=images))
    return [*pieces, *_added(event)]


def _added(event: dict[str, Any]) -> list[Piece]:
    """What the client put behind a message or a result: rules and skills."""
    text, _ = text_of(event.get("extended_content"))
    return [Piece(Kind.USER, Speaker.HARNESS, text)] if text.strip() else []


def _action(event: dict[str, Any]) -> list[Piece]:
    """Reasoning, prose and a call; of a finish its message, which is the final answer."""
    pieces = reasoning_of(event)
    prose, _ = text_of(event.get("thought"))
    finishes = string(event, "tool_name") == FINISH
    if prose.strip():
        final = True if finishes else None
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, prose, final=final))
    if not finishes:
        return [*pieces, _call(event)]
    farewell = text_in(event, "action", "message")
    if farewell.strip():
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, farewell, final=True))
    return pieces


def _call(event: dict[str, Any]) -> Piece:
    """The call as the model wrote it, in either form; without it, the action's fields."""
    call = object_in(event, "tool_call")
    function = call["function"] if isinstance(call.get("function"), dict) else call
    piece = call_of(function, string(event, "tool_call_id"))
    piece.tool = string(event, "tool_name") or piece.tool
    if not piece.text:
        fields = object_in(event, "action").items()
        piece.text = json_text({key: value for key, value in fields if key != "kind"})
    return piece


def _observation(event: dict[str, Any]) -> Piece:
    """The result; older tools name what they found each in its own way."""
    found = object_in(event, "observation")
    text, images = text_of(found.get("content"))
    if not text and not images:
        text = text_in(found, "output")
    if "content" not in found and "output" not in found:
        rest = {key: value for key, value in found.items() if key not in ("kind", "is_error")}
        text = json_text(rest) if rest else ""
    return _result(event, text, is_error=found.get("is_error") is True, images=images)


def _rejection(event: dict[str, Any]) -> list[Piece]:
    """The refusal of a call; the reason that a person gave is theirs, and is said in it already."""
    reason = text_in(event, "rejection_reason")
    result = _result(event, reason, is_error=True)
    by_person = event.get("rejection_source", "user") == "user" and reason not in _REJECTED
    said = Piece(Kind.USER, Speaker.HUMAN, reason, quoted=True)
    return [result, said] if by_person else [result]


def _result(event: dict[str, Any], text: str, *, is_error: bool, images: int = 0) -> Piece:
    tool, call_id = string(event, "tool_name"), string(event, "tool_call_id")
    return Piece(
        Kind.TOOL_RESULT, Speaker.TOOL, text, tool, call_id, images=images, is_error=is_error
    )
