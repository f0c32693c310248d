"""OpenInference's conventions (Phoenix): what a span says of a call.

The one thing to know: lists are numbered attributes in the span, and each message, tool
call and content part is wrapped in an object of its name (`message`, `tool_call`).
"""

from __future__ import annotations

from typing import Any

from contextecho.sessions.building.fields import list_in, object_in, objects_in, under
from contextecho.sessions.readers.spans.attributes import structured
from contextecho.sessions.readers.spans.said import Exchange, exchange


def is_call(attributes: dict[str, Any]) -> bool:
    """Whether the span is a call of a model."""
    llm = object_in(attributes, "llm")
    return not llm.keys().isdisjoint({"input_messages", "output_messages"})


def exchange_of(attributes: dict[str, Any]) -> Exchange:
    """What is said in the call that the span is of."""
    heard = _messages(under(attributes, "llm", "input_messages"))
    return exchange(heard, _messages(under(attributes, "llm", "output_messages")))


def _messages(raw: Any) -> list[dict[str, Any]]:
    return [_message(message) for message in _inside(raw, "message")]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    blocks = [_block(part) for part in _inside(message.get("contents"), "message_content")]
    found = message | {"tool_calls": _inside(message.get("tool_calls"), "tool_call")}
    if blocks:
        found["content"] = blocks
    if under(message, "function_call_name") is not None and not found["tool_calls"]:
        arguments = message.get("function_call_arguments_json")
        found["tool_calls"] = [{"name": message["function_call_name"], "arguments": arguments}]
    return found


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "tool_result":
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": part.get("text")}
    return part


def _inside(values: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list, out of their wrapping."""
    return objects_in([under(value, name) or value for value in list_in(structured(values))])
