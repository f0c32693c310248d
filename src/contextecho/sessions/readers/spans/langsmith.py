"""LangSmith's runs: what a run says of a call.

The one thing to know: inputs and outputs are whatever was traced. LangChain's messages
(`lc` constructors, in a list of lists), OpenAI's and Anthropic's are known.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from contextecho.sessions.building.fields import list_in, object_in, objects_in, string, under
from contextecho.sessions.readers.spans.attributes import parsed
from contextecho.sessions.readers.spans.said import Exchange, exchange


def exchange_of(run: dict[str, Any]) -> Exchange:
    """What is said in the call that the run is of."""
    inputs, outputs = parsed(run.get("inputs")), parsed(run.get("outputs"))
    keys = ("messages", "input", "prompts", "prompt")
    asked = next((found for key in keys if (found := under(inputs, key)) is not None), None)
    system = under(inputs, "system") or under(inputs, "instructions")
    told = system if isinstance(system, str) else _joined(system)
    return exchange(_messages(asked), _answers(outputs), told)


def model_of(run: dict[str, Any]) -> Any:
    """The name of the model, where the run says it."""
    outputs, extra = parsed(run.get("outputs")), parsed(run.get("extra"))
    return (
        under(outputs, "model")
        or under(outputs, "llm_output", "model_name")
        or under(extra, "metadata", "ls_model_name")
        or under(extra, "invocation_params", "model")
    )


def _answers(outputs: Any) -> list[dict[str, Any]]:
    """The choices of a call, the first of which is the answer."""
    generations = under(outputs, "generations")
    if isinstance(generations, list):
        first = generations[0] if generations and isinstance(generations[0], list) else generations
        found = [under(one, "message") or {"content": under(one, "text")} for one in first]
        return list(map(_message, objects_in(found)))
    choices = under(outputs, "choices")
    if isinstance(choices, list):
        found = [under(choice, "message") for choice in choices]
        return list(map(_message, objects_in(found)))
    if isinstance(outputs, dict) and "role" in outputs and "content" in outputs:
        return [_message(outputs)]
    answer = under(outputs, "message") or under(outputs, "output") or under(outputs, "messages")
    return _one(_messages(answer))


def _one(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of one answer as one message."""
    if len(messages) < 2:
        return messages
    blocks: list[Any] = []
    for message in messages:
        content = message.get("content")
        blocks += content if isinstance(content, list) else [content]
    thoughts = [message.get("reasoning_content") for message in messages]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [
        {
            "role": "assistant",
            "content": blocks,
            "tool_calls": calls,
            "reasoning_content": "\n\n".join(text for text in thoughts if isinstance(text, str)),
        }
    ]


def _messages(raw: Any) -> list[dict[str, Any]]:
    """Messages, a list of them in a list, or a text, as messages of role and content."""
    if isinstance(raw, list) and raw and isinstance(raw[0], list):
        raw = raw[0]
    values = raw if isinstance(raw, list) else [raw]
    texts = ({"role": "user", "content": v} if isinstance(v, str) else v for v in values)
    runs = groupby((value for value in texts if isinstance(value, dict)), key=_is_item)
    return [
        message
        for are_items, run in runs
        for message in (_one if are_items else list)(list(map(_message, run)))
    ]


def _is_item(message: dict[str, Any]) -> bool:
    """Whether this is one of the items that an answer of OpenAI's responses is made of."""
    kind = message.get("type")
    is_spoken = kind == "message" and message.get("role") == "assistant"
    return is_spoken or kind in ("reasoning", "function_call")


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """One message out of LangChain's wrapping, or an item of OpenAI's responses."""
    kind, names, data = message.get("type"), message.get("id"), message.get("data")
    if (
        kind == "constructor"
        and isinstance(names, list)
        and isinstance(message.get("kwargs"), dict)
    ):
        name = str(names[-1]) if names else ""
        role = name.removesuffix("Chunk").removesuffix("Message")
        return _with_calls({"role": role} | message["kwargs"])
    if isinstance(data, dict):
        return _with_calls({"role": kind} | data)
    if kind == "function_call":
        call = message | {"id": message.get("call_id")}
        return {"role": "assistant", "tool_calls": [call]}
    if kind == "function_call_output":
        content, id = message.get("output"), message.get("call_id")
        return {"role": "tool", "content": content, "tool_call_id": id}
    if kind == "reasoning":
        return {"role": "assistant", "reasoning_content": _joined(message.get("summary"))}
    return _with_calls({"role": kind} | message)


def _with_calls(message: dict[str, Any]) -> dict[str, Any]:
    """The message, with what older clients keep among the additional arguments."""
    more = object_in(message, "additional_kwargs")
    calls = message.get("tool_calls") or more.get("tool_calls") or []
    thought = message.get("reasoning_content") or more.get("reasoning_content")
    return message | {
        "tool_calls": list_in(calls),
        "reasoning_content": thought,
    }


def _joined(blocks: Any) -> str | None:
    texts = (string(block, "text") for block in list_in(blocks))
    return "\n\n".join(text for text in texts if text is not None) or None
