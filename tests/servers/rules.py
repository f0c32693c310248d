"""What the real APIs demand of a request body; each broken rule is one sentence.

Written from the providers' public references, independently of our adapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def openai_faults(body: dict[str, Any]) -> list[str]:
    """Rules of chat completions that a body breaks."""
    return list(_openai(body))


def anthropic_faults(body: dict[str, Any]) -> list[str]:
    """Rules of the messages API that a body breaks."""
    return list(_anthropic(body))


def _openai(body: dict[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str):
        yield "model is missing"
    if "tools" in body:
        if not body["tools"]:
            yield "tools is empty"
        for tool in body["tools"]:
            if tool["type"] != "function" or not _NAME.fullmatch(tool["function"]["name"]):
                yield f"bad tool {tool}"
    elif "tool_choice" in body:
        yield "tool_choice without tools"
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "two output budgets"
    messages = body.get("messages") or []
    if not messages or messages[-1]["role"] not in ("user", "tool"):
        yield "the last message is not the user's"
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if role not in ("system", "developer", "user", "assistant", "tool"):
            yield f"unknown role {role}"
        if role in ("system", "developer") and number:
            yield "a system message is not the first"
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"message {number} answers no open call"
            else:
                open_calls.remove(message["tool_call_id"])
        elif open_calls:
            yield f"message {number} comes before calls {open_calls} are answered"
        calls = message.get("tool_calls")
        if calls is not None:
            if role != "assistant" or not calls:
                yield f"message {number} has bad tool_calls"
            open_calls = [call["id"] for call in calls]
            for call in calls:
                if not isinstance(call["function"]["arguments"], str):
                    yield "arguments are not a JSON string"
        elif not _is_content(message.get("content")):
            yield f"message {number} has no content"
    if open_calls:
        yield f"calls {open_calls} are never answered"


def _is_content(content: Any) -> bool:
    """Text, or parts of text that are not blank."""
    if not isinstance(content, list):
        return isinstance(content, str)
    return bool(content) and all(
        part["type"] == "text" and part["text"].strip() and len(part) <= 3 for part in content
    )


def _anthropic(body: dict[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens is missing"
    if "tools" in body and not body["tools"]:
        yield "tools is empty"
    if "seed" in body:
        yield "seed is not a parameter"
    messages = body.get("messages") or []
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        yield "the first and the last turn are not the user's"
    expected, open_calls = "user", set()
    for number, message in enumerate(messages):
        if message["role"] != expected:
            yield f"turn {number}: roles do not alternate"
        expected = "assistant" if message["role"] == "user" else "user"
        blocks = message["content"]
        if not isinstance(blocks, list) or not blocks:
            yield f"turn {number} has no blocks"
            continue
        yield from _block_faults(number, blocks, open_calls)
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        if open_calls and not body.get("tools"):
            yield "tool_use without tools"
    marks = sum(1 for _ in _marks(body))
    if marks > 4:
        yield f"{marks} cache breakpoints"


def _block_faults(number: int, blocks: list[dict[str, Any]], open_calls: set[str]) -> Iterator[str]:
    answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
    if answered != open_calls:
        yield f"turn {number} answers {answered}, open are {open_calls}"
    kinds = [block["type"] for block in blocks]
    if "tool_result" in kinds and "text" in kinds[: kinds.index("tool_result")]:
        yield f"turn {number}: text before a tool result"
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            yield f"turn {number}: blank text"


def _marks(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "cache_control" in value:
            yield value
        for item in value.values():
            yield from _marks(item)
    elif isinstance(value, list):
        for item in value:
            yield from _marks(item)
