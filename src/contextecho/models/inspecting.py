"""`inspect/PROVIDER/MODEL`: every provider that inspect_ai knows (Bedrock, Vertex, ...).

The one thing to know: the request is made by inspect_ai. It may merge messages of one role
that stand in a row, leaves out declared tools that nobody may call and, at Anthropic, the
sampling parameters, and costs ten times the processor time of our own wire formats; so a
provider of the table is better asked directly. inspect_ai is imported here and nowhere else,
and only when such a target is opened (extra `[inspect]`).

Each call is a task of its own, in a context of its own: inspect_ai writes every call into a
transcript that lives as long as the context, so calls that share one would all be kept.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import Context
from typing import Any

from contextecho.contexts import Decoding, Message, Request, ToolSpec
from contextecho.errors import ProviderError
from contextecho.models.failures import blot, clean, read_failure
from contextecho.models.model import (
    Failed,
    FailureKind,
    Model,
    Refusal,
    Reply,
    Truncated,
    Usage,
)
from contextecho.models.side import believed
from contextecho.models.wire import answered

try:
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentText,
        GenerateConfig,
        ModelOutput,
        get_model,
    )
    from inspect_ai.tool import ToolCall, ToolCallError, ToolInfo, ToolParams
except ImportError as error:
    raise ProviderError(
        "inspect_ai is not installed", todo="pip install 'contextecho[inspect]'"
    ) from error

_SECRET_NAMES = ("KEY", "SECRET", "TOKEN", "PASSWORD")
_SHORTEST_SECRET = 8  # characters
_MARKING = "inspect/anthropic/"
_TRUNCATING = ("max_tokens", "model_length")
# Calls at a time are the engine's business, and so is asking again.
_OURS = {"max_retries": 0, "max_connections": 1000, "adaptive_connections": False}


class InspectModel(Model):
    """A model behind inspect_ai's model layer."""

    free = False
    max_concurrency: int | None = None

    def __init__(self, target: str, model: Any, timeout: float, notes: tuple[str, ...]) -> None:
        """`model` is inspect_ai's; `timeout` is for one call, in seconds."""
        self.id = target
        self.notes = notes
        self._model = model
        self._timeout = timeout
        self._secrets = tuple(_secrets(os.environ))

    async def answer(self, request: Request) -> Reply:
        """Ask once, in a task of its own."""
        return await asyncio.create_task(self._ask(request), context=Context())

    async def close(self) -> None:
        """Close inspect_ai's client."""
        await self._model.api.aclose()

    async def _ask(self, request: Request) -> Reply:
        started = time.perf_counter()
        try:
            output = await asyncio.wait_for(self._generate(request), self._timeout)
        except TimeoutError:
            said = f"no complete answer within {self._timeout:g} seconds"
            return Failed(kind=FailureKind.SERVER, message=said)
        except Exception as error:  # whatever the provider's own client raises
            return failure_of(error, self._secrets)
        return reply_of(output, time.perf_counter() - started, self._secrets)

    async def _generate(self, request: Request) -> ModelOutput:
        return await self._model.generate(
            input=list(messages_of(request)),
            tools=[tool_of(tool) for tool in request.context.tools],
            tool_choice="none",
            config=_config(request.decoding),
        )


def open_inspect(
    target: str,
    notes: tuple[str, ...],
    *,
    base_url: str | None,
    key: str | None,
    headers: Mapping[str, str],
    timeout: float,
) -> InspectModel:
    """Open the model of `inspect/PROVIDER/MODEL`.

    Raises `ProviderError` where inspect_ai does not know the provider or misses its key or
    its client.
    """
    config = GenerateConfig(**_OURS, extra_headers=dict(headers) or None)
    name = target.removeprefix("inspect/")
    try:
        model = get_model(name, config=config, base_url=base_url, api_key=key, memoize=False)
    except Exception as error:  # PrerequisiteError, ValueError, ImportError of a client
        secrets = (*_secrets(os.environ), *([key] if key else []))
        raise ProviderError(
            f"inspect_ai cannot open {name!r}: {clean(_words(error), secrets)}"
        ) from None
    client = getattr(model.api, "client", None)
    if client is not None and hasattr(
        client, "max_retries"
    ):  # of the official SDKs, which would ask twice more
        client.max_retries = 0
    return InspectModel(target, model, timeout, notes)


def messages_of(request: Request) -> Iterator[Any]:
    """A request as inspect_ai's messages; at Anthropic the end of the prefix is marked.

    Elsewhere a marked message is sent in another form, with a line break before its text.
    """
    context = request.context
    if context.system:
        yield ChatMessageSystem(content=context.system)
    names = {call.id: call.name for message in context.messages for call in message.tool_calls}
    marks = request.target.startswith(_MARKING)
    for message in context.messages:
        shown = _message(message, names)
        ends = message is context.messages[-1] and message.role in ("user", "assistant")
        if marks and ends and message.text.strip():
            shown.content = [ContentText(text=message.text, cache_breakpoint=True)]
        yield shown
    for message in request.ask:
        yield _message(message, names)


def tool_of(tool: ToolSpec) -> ToolInfo:
    """A declared tool; what inspect_ai knows of its JSON Schema."""
    parameters = ToolParams.model_validate(dict(tool.parameters))
    return ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


def reply_of(output: ModelOutput, seconds: float, secrets: Iterable[str] = ()) -> Reply:
    """What inspect_ai gives back, as a reply."""
    known = tuple(secrets)
    told: dict[str, Any] = {
        "usage": _usage(output.usage),
        "served_model": output.model or None,
        "seconds": seconds,
    }
    if output.empty:
        said = clean(output.error or "the model wrote nothing", known)
        return Failed(kind=FailureKind.EMPTY, message=said, **told)
    told["stop_reason"] = output.stop_reason
    text = blot(output.message.text, known)
    if output.stop_reason == "content_filter" or output.error:
        return Refusal(text=text or clean(output.error or "", known), **told)
    if output.stop_reason in _TRUNCATING:
        return Truncated(text=text, **told)
    return answered(text, called_tool=output.stop_reason == "tool_calls", told=told)


def failure_of(error: Exception, secrets: Iterable[str] = ()) -> Failed | Refusal:
    """What a provider's own client raised, by the status that it carries."""
    known = tuple(secrets)
    attempt = getattr(error, "last_attempt", None)  # of tenacity, which inspect_ai asks again with
    error = attempt.exception() if attempt is not None else error
    status = _status(error)
    if status is None:
        kind = FailureKind.SERVER
        return Failed(kind=kind, message=clean(f"{type(error).__name__}: {_words(error)}", known))
    response = getattr(error, "response", None)
    headers = dict(getattr(response, "headers", None) or {})
    body = getattr(response, "content", None)
    if not isinstance(body, bytes):
        body = _words(error).encode("utf-8", "replace")
    return read_failure(status, {k.lower(): v for k, v in headers.items()}, body, known)


def _message(message: Message, names: Mapping[str, str]) -> Any:
    if message.role == "tool":
        error = ToolCallError(type="unknown", message=message.text) if message.is_error else None
        return ChatMessageTool(
            content=message.text,
            tool_call_id=message.call_id,
            function=names.get(message.call_id or ""),
            error=error,
        )
    if message.role == "assistant":
        calls = [
            ToolCall(id=call.id, function=call.name, arguments=dict(call.arguments))
            for call in message.tool_calls
        ]
        return ChatMessageAssistant(content=message.text, tool_calls=calls or None)
    kind = ChatMessageSystem if message.role == "system" else ChatMessageUser
    return kind(content=message.text)


def _config(decoding: Decoding) -> GenerateConfig:
    return GenerateConfig(
        max_tokens=decoding.max_output_tokens,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        seed=decoding.seed,
        reasoning_history="none",
    )


def _usage(usage: Any) -> Usage | None:
    """inspect_ai's input counts leave out what was read from and written to a cache."""
    if usage is None:
        return None
    read, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return believed(
        Usage(
            input=usage.input_tokens + (read or 0) + (written or 0),
            cached=read,
            cache_write=written,
            output=usage.output_tokens,
            reasoning=usage.reasoning_tokens,
        )
    )


def _status(error: Exception) -> int | None:
    """The HTTP status, wherever a client puts it: openai and anthropic, Google, botocore."""
    told = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        told.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((s for s in told if isinstance(s, int) and 100 <= s <= 599), None)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """What may be a key: inspect_ai's providers read theirs where they like."""
    for name, value in environment.items():
        if len(value) >= _SHORTEST_SECRET and any(word in name.upper() for word in _SECRET_NAMES):
            yield value
