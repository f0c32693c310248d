"""The embedded model as a target: chat completions against a server in this process.

Requests that share a prefix reuse its key-value cache by themselves when they
come one after the other, hence one at a time; `Usage.cached` shows it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from contextecho.contexts import Decoding, Request
from contextecho.errors import ProviderError, UsageError
from contextecho.models.endpoint import Endpoint
from contextecho.models.local.server import CONTEXT_LIMIT, LocalServer, shared_server
from contextecho.models.local.weights import SMOLLM2
from contextecho.models.model import Failed, FailureKind, Reply
from contextecho.models.openai_chat import OpenAIChat
from contextecho.models.providers import Quirks

_TOO_LONG = re.compile(r"request \((\d+) tokens\) exceeds the available context size")
_NOTES = (
    "a 135M-parameter model shows that everything works, and nothing about large models",
    "it is served with a bias towards ending its reply: else one reply in seven never ends",
)
# On the logit of SmolLM2's <|im_end|>. Of 36 replies with a budget of 256 tokens, 13 ran into it
# at 0, three at 1.5 and none at 3; penalties on repetition made them longer (ADR 0004).
_END_BIAS = [[2, 3.0]]


class LocalModel(OpenAIChat):
    """A chat model from a GGUF file, on this machine's CPU."""

    free = True
    max_concurrency: int | None = 1

    def __init__(self, target: str, server: LocalServer, timeout: float) -> None:
        """`server` is kept running until `close`."""
        self._server: LocalServer | None = server
        endpoint = Endpoint(f"{server.base_url}/chat/completions", {}, (), timeout)
        self._embedded = target == "local"
        super().__init__(target, target, endpoint, Quirks(), notes_of_local(target))

    async def answer(self, request: Request) -> Reply:
        """Ask once. Tool calls in the history are refused: its chat template drops them."""
        messages = (*request.context.messages, *request.ask)
        if any(message.tool_calls for message in messages):
            return Failed(
                kind=FailureKind.BAD_REQUEST,
                message="the local model's chat template shows no tool calls; "
                "use the native-text rendering",
            )
        reply = await super().answer(_seeded(request))
        too_long = _TOO_LONG.search(reply.message) if isinstance(reply, Failed) else None
        if too_long:
            return Failed(
                kind=FailureKind.BAD_REQUEST,
                message=f"the request has {too_long[1]} tokens and the local model reads at most "
                f"{CONTEXT_LIMIT}; lower the protocol's budget",
                status=400,
            )
        return reply

    def tail(self, decoding: Decoding) -> dict[str, Any]:
        """The decoding; the embedded model is helped to end its reply."""
        bias = {"logit_bias": _END_BIAS} if self._embedded else {}
        return super().tail(decoding) | bias

    async def close(self) -> None:
        """Close the connections and let go of the server."""
        await super().close()
        self._server = None


def _seeded(request: Request) -> Request:
    """The request with a seed of its own, so that the same one gets the same reply every time."""
    if request.decoding.seed is not None:
        return request
    decoding = replace(request.decoding, seed=int(request.key[:7], 16))
    return replace(request, decoding=decoding)


class LocalTokenCounter:
    """Counts tokens as the embedded model does."""

    def __init__(self, weights: Path, name: str) -> None:
        """`name` says in a plan which tokenizer counted."""
        self.name = name
        self._server = shared_server(weights)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._server.count_tokens(text)


def open_local(target: str, *, timeout: float) -> LocalModel:
    """The model that `local` or `local/PATH.gguf` names."""
    return LocalModel(target, shared_server(weights_of(target)), timeout)


def serving_of_local(target: str) -> str:
    """The weights behind a local target, there or not, and what is done to their output."""
    if target != "local":
        path = weights_of(target)
        return f"{path.name}, {path.stat().st_size} bytes"
    (token, bias), *_ = _END_BIAS
    return (
        f"{SMOLLM2.path.name}, SHA-256 {SMOLLM2.sha256[:12]}, "
        f"with {bias:+g} on the logit of token {token}, which ends a reply"
    )


def notes_of_local(target: str) -> tuple[str, ...]:
    """What to read the answers of a local target with; of weights of the user's own, nothing."""
    return _NOTES if target == "local" else ()


def open_local_counter(target: str = "local") -> LocalTokenCounter:
    """The tokenizer of the model that `local` or `local/PATH.gguf` names."""
    path = weights_of(target)
    return LocalTokenCounter(path, f"local/{path.name}")


def weights_of(target: str) -> Path:
    """The weights file of a local target; says what to do where there is none."""
    named = target.partition("/")[2]
    if not named:
        if not SMOLLM2.path.is_file():
            raise ProviderError(
                "the embedded model's weights are not installed", todo="contextecho local install"
            )
        return SMOLLM2.path
    path = Path(named).expanduser()
    if path.suffix != ".gguf" or not path.is_file():
        raise UsageError("no such GGUF file", where=str(path), todo="write local/PATH.gguf")
    return path.resolve()
