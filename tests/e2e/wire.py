"""Request bodies of both wire formats in one form, so that one test reads both.

A body becomes its system prompt, its tools, the pieces of its prefix and its question.
Written from the providers' public references, without looking at the adapters.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """One thing that was said: words, a tool call or a tool's result."""

    role: str  # "user" or "assistant"; results are the user's on one wire and "tool" on the other
    kind: str  # "text", "call" or "result"
    text: str
    call: str | None = None  # the id that joins a call and its result


class Shown(NamedTuple):
    """What a body shows the model."""

    system: str | None
    tools: tuple[str, ...]  # each as JSON
    policy: object  # tool_choice
    prefix: tuple[Piece, ...]
    ask: Piece
    decoding: dict[str, Any]  # everything else

    @property
    def words(self) -> str:
        """All that a tokenizer reads before the question, but for the system prompt."""
        return "\n".join([*self.tools, *(piece.text for piece in self.prefix)])


def read_openai(body: dict[str, Any]) -> Shown:
    """A body of chat completions."""
    rest = dict(body)
    messages = rest.pop("messages")
    system = messages.pop(0)["content"] if messages[0]["role"] == "system" else None
    pieces = [piece for message in messages for piece in _message(message)]
    tools = tuple(json.dumps(tool["function"]) for tool in rest.pop("tools", []))
    return Shown(system, tools, rest.pop("tool_choice", None), tuple(pieces[:-1]), pieces[-1], rest)


def _message(message: dict[str, Any]) -> list[Piece]:
    if message["role"] == "tool":
        return [Piece("tool", "result", message["content"], message["tool_call_id"])]
    said = [Piece(message["role"], "text", message["content"])] if message.get("content") else []
    for call in message.get("tool_calls") or []:
        function = call["function"]
        words = f"{function['name']} {function['arguments']}"
        said.append(Piece("assistant", "call", words, call["id"]))
    return said


def read_anthropic(body: dict[str, Any]) -> Shown:
    """A body of the messages API."""
    rest = dict(body)
    system = "".join(block["text"] for block in rest.pop("system", [])) or None
    pieces = [
        _block(turn["role"], block) for turn in rest.pop("messages") for block in turn["content"]
    ]
    tools = tuple(
        json.dumps({key: value for key, value in tool.items() if key != "cache_control"})
        for tool in rest.pop("tools", [])
    )
    return Shown(system, tools, rest.pop("tool_choice", None), tuple(pieces[:-1]), pieces[-1], rest)


def _block(role: str, block: dict[str, Any]) -> Piece:
    if block["type"] == "tool_result":
        return Piece(role, "result", block["content"], block["tool_use_id"])
    if block["type"] == "tool_use":
        return Piece(role, "call", f"{block['name']} {json.dumps(block['input'])}", block["id"])
    return Piece(role, "text", block["text"])
