"""Chat completions against any base URL: OpenAI, everyone who copies it, and local servers.

A body is `{"model":.., "messages":[PREFIX.. ,ASK..], DECODING}`; everything up
to the end of the prefix is rendered once a context and spliced as bytes, so
that requests on one prefix are byte-identical up to the question (which is what
providers' prompt caches need).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from contextecho.contexts import Context, Decoding, Message, Request, canonical_json
from contextecho.models.endpoint import Exchange
from contextecho.models.failures import error_in_body, foreign_answer
from contextecho.models.model import Failed, FailureKind, Refusal, Reply, Truncated, Usage
from contextecho.models.providers import Quirks, bridge_text, usage_fields
from contextecho.models.side import believed, first_tokens, tokens, word
from contextecho.models.wire import WireModel, answered, cache_key, cache_mark, json_reader

_encode = msgspec.json.Encoder().encode
_THINKING = re.compile(r"\s*<think>.*?(</think>\s*|\Z)", re.DOTALL)
_LENGTH = ("length", "max_tokens", "model_length")


_BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
# What a marked body says besides. Without it OpenAI also writes each question to the cache.
_MARKED: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {},
    "openai": {"prompt_cache_options": {"mode": "explicit"}},
}


class _Head(msgspec.Struct, frozen=True):
    body: bytes  # everything up to the last message of the prefix
    last_role: str | None


class OpenAIChat(WireModel[_Head]):
    """A model behind a chat-completions endpoint."""

    def body(self, request: Request) -> bytes:
        """The bytes that are sent for a request."""
        head = self._heads.head(request.context)
        ask = list(_wire_messages(request.ask, head.last_role, self._quirks))
        first = head.last_role is None
        messages = b",".join([_encode(message) for message in ask])
        fields = self.tail(request.decoding) | _answer_form(self._schema(request))
        return b"".join(
            (
                head.body,
                b"" if first else b",",
                messages,
                b"],",
                _encode(fields)[1:],
            )
        )

    def _render(self, context: Context) -> _Head:
        quirks = self._quirks
        fields: dict[str, Any] = {"model": self.model}
        if quirks.prompt_cache_key:
            fields["prompt_cache_key"] = cache_key(context)
        if quirks.thinking is not None:
            fields["thinking"] = {"type": quirks.thinking}
        if context.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": msgspec.Raw(canonical_json(tool.parameters)),
                    },
                }
                for tool in context.tools
            ]
            fields["tool_choice"] = "none"
        messages = list(_wire_messages(context.messages, None, quirks))
        if context.system:
            messages.insert(0, {"role": quirks.system_role, "content": context.system})
        if quirks.cache_marks is not None and _mark(messages, quirks):
            fields |= _MARKED[quirks.cache_marks]
        fields["messages"] = messages
        last = messages[-1]["role"] if messages else None
        return _Head(_encode(fields).removesuffix(b"]}"), last)

    def tail(self, decoding: Decoding) -> dict[str, Any]:
        """The fields that stand behind the messages."""
        quirks = self._quirks
        fields = {quirks.token_parameter: decoding.max_output_tokens, **self._sampling(decoding)}
        if quirks.seed_parameter and decoding.seed is not None:
            fields[quirks.seed_parameter] = decoding.seed
        return fields

    def _read(self, exchange: Exchange) -> Reply:
        return read_completion(exchange, self.endpoint.secrets)


def _mark(messages: list[dict[str, Any]], quirks: Quirks) -> bool:
    """Mark the end of a prefix, and of its system prompt where marks are free; False: no text."""
    speaking = [message for message in messages if (message["content"] or "").strip()]
    marked = speaking[-1:]
    if quirks.cache_marks == "anthropic":
        marked += [message for message in speaking[:-1] if message["role"] == "system"]
    mark = cache_mark(quirks) if quirks.cache_marks == "anthropic" else _BREAKPOINT
    for message in marked:
        message["content"] = [{"type": "text", "text": message["content"], **mark}]
    return bool(marked)


def _answer_form(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The field that holds the answer to a schema."""
    if schema is None:
        return {}
    form = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _wire_messages(
    messages: Iterable[Message], previous: str | None, quirks: Quirks
) -> Iterator[dict[str, Any]]:
    """Messages in the wire's form, after one whose role was `previous`."""
    for message in _alternating(messages) if quirks.alternate else messages:
        bridged = {"tool": quirks.bridge_after_tool, "user": quirks.alternate}
        if message.role == "user" and previous and bridged.get(previous):
            yield {"role": "assistant", "content": bridge_text()}
        yield _wire_message(message, quirks)
        previous = message.role


def _alternating(messages: Iterable[Message]) -> Iterator[Message]:
    """Messages of one speaker in a row as one message; tool results stay as they are."""
    for role, group in groupby(messages, key=lambda message: message.role):
        said = list(group)
        if role == "tool":
            yield from said
            continue
        text = "\n\n".join(message.text for message in said if message.text)
        calls = tuple(call for message in said for call in message.tool_calls)
        yield Message(role=role, text=text, tool_calls=calls)


def _wire_message(message: Message, quirks: Quirks) -> dict[str, Any]:
    if message.role == "tool":
        call_id = _call_id(message.call_id or "", quirks)
        return {"role": "tool", "tool_call_id": call_id, "content": message.text}
    if not message.tool_calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {
            "id": _call_id(call.id, quirks),
            "type": "function",
            "function": {"name": call.name, "arguments": canonical_json(call.arguments).decode()},
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _call_id(call_id: str, quirks: Quirks) -> str:
    if quirks.call_ids == "any":
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)
    finish_reason: Any = None
    error: Any = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] = []
    model: Any = None
    usage: Any = None
    error: Any = None


_decode = json_reader(_Completion)


def read_completion(exchange: Exchange, secrets: tuple[str, ...] = ()) -> Reply:
    """A 200 answer of a chat-completions endpoint as a reply."""
    try:
        completion = _decode(exchange.body)
    except (msgspec.MsgspecError, ValueError):
        return foreign_answer(exchange.body, "a chat completion", exchange.seconds)
    error = completion.error or (completion.choices[0].error if completion.choices else None)
    if error:
        return error_in_body(error, secrets)
    if not completion.choices:
        return foreign_answer(exchange.body, "a chat completion", exchange.seconds)
    return _reply(completion, completion.choices[0], exchange.seconds)


def _reply(completion: _Completion, choice: _Choice, seconds: float) -> Reply:
    text = _visible(choice.message.content)
    reason, refusal = word(choice.finish_reason), word(choice.message.refusal)
    told: dict[str, Any] = {
        "stop_reason": reason,
        "usage": _usage(completion.usage),
        "served_model": word(completion.model),
        "seconds": seconds,
    }
    if refusal or reason == "content_filter":
        return Refusal(text=refusal or text, **told)
    if reason in _LENGTH:
        return Truncated(text=text, **told)
    if reason == "error":
        return Failed(kind=FailureKind.SERVER, message="the provider broke off", **told)
    return answered(text, called_tool=reason == "tool_calls", told=told)


def _visible(content: str | list[_Part] | None) -> str:
    """What a user would see: text parts only, without a leading block of open thinking."""
    if isinstance(content, list):
        content = "".join(part.text or "" for part in content if part.type in ("text", ""))
    thinking = _THINKING.match(content or "")
    return (content or "")[thinking.end() if thinking else 0 :]


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, output = tokens(usage, "prompt_tokens"), tokens(usage, "completion_tokens")
    total = tokens(usage, "total_tokens")
    if prompt is not None and output is not None and total is not None:
        # Google's endpoint leaves hidden reasoning out of completion_tokens, and so does xAI's;
        # it is billed all the same: it is in the total.
        output = max(output, total - prompt)
    fields = usage_fields()
    return believed(
        Usage(
            input=prompt,
            cached=first_tokens(usage, fields.cached),
            cache_write=first_tokens(usage, fields.cache_write),
            output=output,
            reasoning=first_tokens(usage, fields.reasoning),
        )
    )
