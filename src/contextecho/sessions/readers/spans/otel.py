"""OpenTelemetry's conventions for generative AI: what a span says of a call.

The one thing to know: the messages are in attributes (`gen_ai.input.messages`, since
1.37), in events of the span (`gen_ai.user.message` and `gen_ai.choice`, up to 1.36), or in
numbered attributes (`gen_ai.prompt.0.content`), which older instrumentations write.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.building.fields import objects_in, under
from contextecho.sessions.readers.spans.attributes import attributes_of, parsed
from contextecho.sessions.readers.spans.said import Exchange, exchange

CALLS: Final = ("chat", "generate_content", "text_completion")
_EVENT: Final = "gen_ai."
_CONVERSE: Final = ("text", "toolUse", "toolResult", "reasoningContent")


def is_call(attributes: dict[str, Any]) -> bool:
    """Whether the span is a call of a model."""
    operation = under(attributes, "gen_ai", "operation", "name")
    return operation in CALLS or (
        operation is None
        and under(attributes, "llm", "request", "type") != "embedding"
        and under(attributes, "gen_ai", "request", "model") is not None
    )


def exchange_of(attributes: dict[str, Any], span: dict[str, Any]) -> Exchange:
    """What is said in the call that the span is of."""
    ai = attributes.get("gen_ai")
    events = span.get("events")
    named = [(event.get("name"), _body(event)) for event in objects_in(events)]
    for name, body in named:
        if name == "gen_ai.client.inference.operation.details":
            ai = body.get("gen_ai")
    heard = _messages(under(ai, "input", "messages")) or _messages(under(ai, "prompt"))
    answered = _messages(under(ai, "output", "messages")) or _messages(under(ai, "completion"))
    told_in = under(ai, "system_instructions") or under(ai, "system", "instructions")
    parts = parsed(told_in)
    texts = [part.get("content") for part in objects_in(parts)]
    told = "\n\n".join(
        text for text in (texts if isinstance(parts, list) else [told_in]) if isinstance(text, str)
    )
    for name, body in named if not heard and not answered else ():
        if name == "gen_ai.choice":
            answered.append(_choice(body))
        elif name == "gen_ai.content.prompt":
            heard += _messages(under(body, "gen_ai", "prompt"))
        elif name == "gen_ai.content.completion":
            answered += _messages(under(body, "gen_ai", "completion"))
        elif isinstance(name, str) and name.startswith(_EVENT) and name.endswith(".message"):
            role = name.removeprefix(_EVENT).removesuffix(".message")
            heard.append({"role": role} | body | {"tool_call_id": body.get("id")})
    return exchange(heard, answered, told or None)


def _body(event: dict[str, Any]) -> dict[str, Any]:
    """What an event says: its attributes, or the text of JSON in one of them."""
    attributes = attributes_of(event.get("attributes"))
    content = parsed(under(attributes, "gen_ai", "event", "content"))
    if isinstance(content, str):
        return {"content": content}
    body = content if isinstance(content, dict) else attributes
    return body | {
        "content": _content(body.get("content")),
        "tool_calls": parsed(body.get("tool_calls")),
    }


def _choice(body: dict[str, Any]) -> dict[str, Any]:
    message = parsed(body.get("message", body))
    if not isinstance(message, dict):
        message = {"content": body.get("message")}
    return (
        {"tool_calls": body.get("tool_calls")}
        | message
        | {"content": _content(message.get("content"))}
    )


def _messages(raw: Any) -> list[dict[str, Any]]:
    found = parsed(raw)
    if isinstance(found, str) and found:
        return [{"role": "user", "content": found}]
    return list(map(_message, objects_in(found if isinstance(found, list) else [found])))


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A message of parts as one of content blocks."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        return message | {"content": _content(message.get("content"))}
    return {"role": message.get("role"), "content": list(map(_block, objects_in(parts)))}


def _content(value: Any) -> Any:
    """Content blocks that were made a text of JSON; any other content as it is."""
    found = parsed(value)
    blocks = objects_in(found)
    if blocks and all("type" in block for block in blocks):
        return found
    if blocks and all(not block.keys().isdisjoint(_CONVERSE) for block in blocks):
        return list(map(_of_converse, blocks))
    return value


def _of_converse(block: dict[str, Any]) -> dict[str, Any]:
    """A block of Bedrock's Converse API, whose kind is its key."""
    call, result, thought = (block.get(key) for key in _CONVERSE[1:])
    if isinstance(call, dict):
        return call | {"type": "tool_use", "id": call.get("toolUseId")}
    if isinstance(result, dict):
        id, failed = result.get("toolUseId"), result.get("status") == "error"
        content = _content(result.get("content"))
        return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}
    if thought is not None:
        return {"type": "thinking", "thinking": under(thought, "reasoningText", "text")}
    return {"type": "text", "text": block.get("text")}


def _block(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part.get("content", part.get("text"))}
    if kind == "tool_call":
        return part | {"type": "tool_use"}
    if kind == "tool_call_response":
        answer = part.get("response", part.get("result"))
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": answer}
    return part
