"""What one event of OpenHands before its SDK (V0) holds: an action or an observation.

The one thing to know: `args.thought` is the prose before a call, except in a `think`
action, where it is the argument too. The raw answer of the model is repeated on the
action and on its observation: its id says which events are one message.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.building.chat_parts import reasoning_of, text_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import list_in, object_in, string, text_in
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.model import Kind, Speaker

QUIET_ACTIONS: Final = frozenset(
    {"change_agent_state", "condensation_request", "null", "pause", "recall", "resume", "start"}
    | {"loop_recovery", "stop"}
)
QUIET_OBSERVATIONS: Final = frozenset(
    {"agent_state_changed", "download", "loop_detection", "microagent", "null", "recall"}
    | {"server_ready", "workspace_context"}
)
"""The client's own events, which are not said to anyone as they stand."""


def is_event(value: Any) -> bool:
    """Whether this is an action or an observation; what names an action has to be one."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("action"), str):
        return isinstance(value.get("args"), dict)
    return (
        isinstance(value.get("observation"), str)
        and isinstance(value.get("content"), str)
        and isinstance(value.get("extras"), dict)
    )


def pieces_of(event: dict[str, Any]) -> list[Piece]:
    """The pieces of an event; who said a message is for the caller, who knows what came before."""
    if not isinstance(event.get("action"), str):
        return [_observation(event)]
    name, args = event["action"], event["args"]
    if name in ("message", "system"):
        kind, speaker = Kind.USER, Speaker.HARNESS
        if name == "message" and event.get("source") == "agent":
            kind, speaker = Kind.ASSISTANT, Speaker.MODEL
        text = string(args, "content") or ""
        return [Piece(kind, speaker, text, images=_pictures(args))]
    if name == "condensation":
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, string(args, "summary") or "")]
    message = _answer(event)
    pieces = reasoning_of(message)
    thought = text_of(message.get("content"))[0] if name == "think" else string(args, "thought")
    if thought and thought.strip():
        final = True if name == "finish" else None
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, thought, final=final))
    return [*pieces, *(_farewell(args) if name == "finish" else [_call(event, message)])]


def call_id_of(event: dict[str, Any]) -> str | None:
    """The id that the model's call of this event, or the call it answers, has in the answer."""
    return string(event, "tool_call_metadata", "tool_call_id")


def answer_id_of(event: dict[str, Any]) -> str | None:
    """The id of the model's answer that the event is a part of."""
    return string(_response(event), "id")


def model_of(event: dict[str, Any]) -> str | None:
    """The model that gave the answer."""
    return string(_response(event), "model")


def _response(event: dict[str, Any]) -> dict[str, Any]:
    return object_in(event, "tool_call_metadata", "model_response")


def _answer(event: dict[str, Any]) -> dict[str, Any]:
    """The message in the model's answer."""
    choices = list_in(_response(event), "choices")
    return object_in(choices[0], "message") if choices else {}


def _call(event: dict[str, Any], answer: dict[str, Any]) -> Piece:
    """The call as the model wrote it; without its answer, the action's arguments."""
    wanted = call_id_of(event)
    for call in list_in(answer, "tool_calls"):
        text = string(call, "function", "arguments")
        if text is not None and string(call, "id") == wanted:
            name = string(call, "function", "name")
            return Piece(Kind.TOOL_CALL, Speaker.MODEL, text, name, wanted)
    name = string(event, "tool_call_metadata", "function_name") or event["action"]
    hidden = () if event["action"] == "think" else ("thought",)
    arguments = {key: value for key, value in event["args"].items() if key not in hidden}
    return Piece(Kind.TOOL_CALL, Speaker.MODEL, json_text(arguments), name, wanted)


def _farewell(args: dict[str, Any]) -> list[Piece]:
    """The message of a finish, which is the final answer."""
    text = text_in(args, "final_thought")
    return [Piece(Kind.ASSISTANT, Speaker.MODEL, text, final=True)] if text.strip() else []


def _observation(event: dict[str, Any]) -> Piece:
    extras = event["extras"]
    pictures = sum(bool(extras.get(key)) for key in ("screenshot", "set_of_marks"))
    is_error = (
        event["observation"] in ("error", "user_rejected")
        or event.get("success") is False
        or extras.get("error") is True
    )
    return Piece(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        event["content"],
        call_id=call_id_of(event),
        images=pictures + _pictures(extras),
        is_error=is_error,
    )


def _pictures(fields: dict[str, Any]) -> int:
    return len(list_in(fields, "image_urls"))
