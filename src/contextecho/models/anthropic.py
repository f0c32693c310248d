"""Anthropic's messages: turns of content blocks, and two cache breakpoints.

Breakpoints stand at the end of system and tools, and at the last block of the
prefix; the question comes after both, so that each further question on a prefix
reads it from the cache. As in chat completions the prefix is rendered once; its
last turn is left open, because a question of the same role must join that turn
(tool results and the user's words after them are one user turn).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from contextecho.contexts import Context, Message, Request, canonical_json
from contextecho.models.endpoint import Exchange
from contextecho.models.failures import foreign_answer, read_failure
from contextecho.models.model import Failed, Refusal, Reply, Truncated, Usage
from contextecho.models.side import believed, tokens, word
from contextecho.models.wire import WireModel, answered, cache_mark, json_reader

# The older of the two current versions: 2026-10-21 removed temperature and top_p for all models,
# and the models of the paper's panel were sampled with them.
API_VERSION = "2023-06-01"

_encode = msgspec.json.Encoder().encode
# The HTTP status that each error has in a call of its own: docs.claude.com/en/api/errors.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TRUNCATING = ("max_tokens", "model_context_window_exceeded")


class _Head(msgspec.Struct, frozen=True):
    body: bytes  # everything up to the last block of the prefix, its turn still open
    open_role: str | None  # the role of that turn


class AnthropicMessages(WireModel[_Head]):
    """A model behind Anthropic's messages endpoint."""

    def body(self, request: Request) -> bytes:
        """The bytes that are sent for a request."""
        head = self._heads.head(request.context)
        parts, role = [head.body], head.open_role
        for turn_role, blocks in _turns(request.ask):
            inner = _encode(blocks)[1:-1]
            if turn_role == role:
                parts += b",", inner
            else:
                parts += b"" if role is None else b"]},", _open_turn(turn_role), inner
            role = turn_role
        parts += b"]}]", self._tail(request)
        return b"".join(parts)

    def _render(self, context: Context) -> _Head:
        fields: dict[str, Any] = {"model": self.model}
        if context.tools:
            fields["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": msgspec.Raw(canonical_json(tool.parameters)),
                }
                for tool in context.tools
            ]
            fields["tool_choice"] = {"type": "none"}
        mark = cache_mark(self._quirks)
        if context.system:
            fields["system"] = [{"type": "text", "text": context.system, **mark}]
        elif context.tools:
            fields["tools"][-1] |= mark
        fields["messages"] = []
        start = _encode(fields).removesuffix(b"]}")
        turns = list(_turns(context.messages))
        if not turns:
            return _Head(start, None)
        turns[-1][1][-1] |= mark
        rendered = b"]},".join([_open_turn(role) + _encode(blocks)[1:-1] for role, blocks in turns])
        return _Head(start + rendered, turns[-1][0])

    def _tail(self, request: Request) -> bytes:
        decoding, schema = request.decoding, self._schema(request)
        fields = {"max_tokens": decoding.max_output_tokens, **self._sampling(decoding)}
        if schema is not None:
            fields["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return b"," + _encode(fields)[1:]

    def _read(self, exchange: Exchange) -> Reply:
        return read_message(exchange, self.endpoint.secrets)


def _open_turn(role: str) -> bytes:
    return b'{"role":"%s","content":[' % role.encode()


def _turns(messages: Iterable[Message]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Turns as `(role, blocks)`; messages of one role in a row are one turn."""
    for role, group in groupby(messages, key=_turn_role):
        blocks = [block for message in group for block in _blocks(message)]
        if blocks:
            yield role, blocks


def _turn_role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    """The content blocks of a message; the API refuses blank text, so that makes no block."""
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
        yield result | {"content": message.text} | ({"is_error": True} if message.is_error else {})
        return
    if message.text.strip():
        yield {"type": "text", "text": message.text}
    for call in message.tool_calls:
        arguments = msgspec.Raw(canonical_json(call.arguments))
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Reply(msgspec.Struct):
    content: list[_Block] | None = None
    stop_reason: Any = None
    model: Any = None
    usage: Any = None
    error: Any = None


class _Error(msgspec.Struct):
    error: dict[str, Any]


_decode = json_reader(_Reply)


def read_message(exchange: Exchange, secrets: tuple[str, ...] = ()) -> Reply:
    """A 200 answer of the messages endpoint as a reply; gateways put errors there too."""
    try:
        message = _decode(exchange.body)
        if message.error:
            return read_error(exchange.body, secrets)
    except (msgspec.MsgspecError, ValueError):
        return foreign_answer(exchange.body, "a message", exchange.seconds)
    if message.content is None:
        return foreign_answer(exchange.body, "a message", exchange.seconds)
    text = "".join(block.text for block in message.content if block.type == "text")
    reason = word(message.stop_reason)
    told: dict[str, Any] = {
        "stop_reason": reason,
        "usage": _usage(message.usage),
        "served_model": word(message.model),
        "seconds": exchange.seconds,
    }
    if reason == "refusal":
        return Refusal(text=text, **told)
    if reason in _TRUNCATING:
        return Truncated(text=text, **told)
    return answered(text, called_tool=reason == "tool_use", told=told)


def read_error(body: bytes, secrets: tuple[str, ...]) -> Failed | Refusal:
    """An error that came without a status of its own. Raises `MsgspecError` when it is none."""
    kind = msgspec.json.decode(body, type=_Error).error.get("type")
    return read_failure(_STATUS.get(str(kind), 500), {}, body, secrets)


def _usage(usage: object) -> Usage | None:
    """The API's `input_tokens` are only those that no cache served; ours are all of them."""
    if not isinstance(usage, dict):
        return None
    fresh = tokens(usage, "input_tokens")
    read = tokens(usage, "cache_read_input_tokens")
    written = tokens(usage, "cache_creation_input_tokens")
    return believed(
        Usage(
            input=None if fresh is None else fresh + (read or 0) + (written or 0),
            cached=read,
            cache_write=written,
            output=tokens(usage, "output_tokens"),
            reasoning=tokens(usage, "output_tokens_details", "thinking_tokens"),
        )
    )
