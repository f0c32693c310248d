"""From replayed messages to a context that both wire formats accept, in three renderings.

The one thing to know: every context made here begins with a user message, never
has two messages of one role in a row (tool results apart), and ends with an
assistant message or a tool result, so that a question can follow. Merging
happens here, never in the wire layer, so the hash covers what is really sent;
the one exception is Anthropic's rule that results and the text after them
share a user turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from contextecho.contexts.model import Context, Message, ToolSpec, canonical_json
from contextecho.contexts.protocol import Rendering
from contextecho.contexts.wording import wording

_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_JSON_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


def render(
    messages: Sequence[Message], rendering: Rendering, *, system: str, acknowledgement: str
) -> Context:
    """Valid native `messages` as a context; no messages give a context without any."""
    if not messages:
        return Context(system=system)
    if rendering is Rendering.QUOTED:
        transcript = Message(role="user", text=quote(messages))
        return Context(
            system=system,
            messages=(transcript, Message(role="assistant", text=acknowledgement)),
        )
    if rendering is Rendering.NATIVE_TEXT:
        messages = tool_traffic_as_text(messages)
    merged = merge_roles(messages)
    if merged[0].role != "user":
        merged.insert(0, Message(role="user", text=wording().opening))
    if merged[-1].role == "user":
        merged.append(Message(role="assistant", text=acknowledgement))
    return Context(system=system, messages=tuple(merged), tools=declare_tools(merged))


def merge_roles(messages: Iterable[Message]) -> list[Message]:
    """Join neighbours of the same role (user or assistant) with a blank line."""
    merged: list[Message] = []
    for message in messages:
        if not merged or message.role == "tool" or merged[-1].role != message.role:
            merged.append(message)
            continue
        previous = merged[-1]
        merged[-1] = msgspec.structs.replace(
            previous,
            text="\n\n".join(filter(None, (previous.text, message.text))),
            tool_calls=previous.tool_calls + message.tool_calls,
        )
    return merged


def tool_traffic_as_text(messages: Iterable[Message]) -> list[Message]:
    """Calls as lines of the assistant's text, results as user text."""
    names: dict[str | None, str] = {}
    rendered = []
    for message in messages:
        for call in message.tool_calls:
            names[call.id] = call.name
        if message.role == "tool":
            head = wording().result.format(name=names[message.call_id])
            rendered.append(Message(role="user", text=f"{head}\n{message.text}"))
        elif message.role == "assistant":
            rendered.append(Message(role="assistant", text=_text_with_calls(message)))
        else:
            rendered.append(message)
    return rendered


def quote(messages: Iterable[Message]) -> str:
    """The messages as one transcript under role headers."""
    headers = wording().headers
    return "\n\n".join(f"{headers[m.role]}\n{_text_with_calls(m)}" for m in messages)


def readable(context: Context) -> str:
    """A whole context as text under role headers, system prompt first; for a reader's eye."""
    system = (Message(role="system", text=context.system),) if context.system else ()
    return quote((*system, *context.messages))


def declare_tools(messages: Iterable[Message]) -> tuple[ToolSpec, ...]:
    """The tools called in `messages`, by name, with the parameters and types seen there."""
    seen: dict[str, dict[str, set[str]]] = {}
    for message in messages:
        for call in message.tool_calls:
            parameters = seen.setdefault(call.name, {})
            for key, value in call.arguments.items():
                if _PROPERTY.fullmatch(key):
                    parameters.setdefault(key, set()).add(_JSON_TYPES.get(type(value), "null"))
    return tuple(
        ToolSpec(name=name, description=wording().tool, parameters=_schema(seen[name]))
        for name in sorted(seen)
    )


def _schema(parameters: Mapping[str, set[str]]) -> dict[str, Any]:
    properties = {
        key: {"type": types.pop()} if len(types) == 1 else {}
        for key, types in sorted((key, set(types)) for key, types in parameters.items())
    }
    return {"type": "object", "properties": properties}


def _text_with_calls(message: Message) -> str:
    calls = (
        wording().call.format(name=call.name, arguments=canonical_json(call.arguments).decode())
        for call in message.tool_calls
    )
    return "\n".join(filter(None, (message.text, *calls)))
