"""What the two wire formats share: a model behind an endpoint, asked with cached prefixes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from contextecho.contexts import Context, Decoding, Request
from contextecho.models.endpoint import Endpoint, Exchange
from contextecho.models.failures import blot, foreign_answer
from contextecho.models.model import Answer, Caching, Failed, FailureKind, Model, Reply
from contextecho.models.prefixes import PrefixCache, Rendered
from contextecho.models.providers import Quirks
from contextecho.untrusted import mend_halves

_HOUR = 3600.0

Head = TypeVar("Head", bound=Rendered)
T = TypeVar("T")


class WireModel(Model, Generic[Head]):
    """A model behind an endpoint. A wire format renders the prefix, the body and the answer."""

    free = False
    max_concurrency: int | None = None

    def __init__(
        self,
        target: str,
        model: str,
        endpoint: Endpoint,
        quirks: Quirks,
        notes: tuple[str, ...] = (),
    ) -> None:
        """`model` is the provider's own id of `target`."""
        self.id = target
        self.notes = notes
        self.caching = _caching(quirks)
        self.cached_count = quirks.cache_counts
        self.model = model
        self.endpoint = endpoint
        self._quirks = quirks
        self._heads = PrefixCache(self._render)

    async def answer(self, request: Request) -> Reply:
        """Ask once."""
        exchange = await self.endpoint.post(self.body(request), self._routing(request.context))
        if not isinstance(exchange, Exchange):
            return exchange
        return self.read(exchange)

    def read(self, exchange: Exchange) -> Reply:
        """What a 200 answer says, whatever a server wrote; without keys that it echoed."""
        try:
            reply = self._read(exchange)
        except Exception:  # one odd answer ends no run
            reply = foreign_answer(exchange.body, "an answer that can be read", exchange.seconds)
        if exchange.allowance is not None:
            reply = msgspec.structs.replace(reply, allowance=exchange.allowance)
        return _without(self.endpoint.secrets, reply)

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoint.close()

    def body(self, request: Request) -> bytes:
        """The bytes that are sent for a request."""
        raise NotImplementedError

    def _render(self, context: Context) -> Head:
        """The part of a body that requests on one context share."""
        raise NotImplementedError

    def _read(self, exchange: Exchange) -> Reply:
        """A 200 answer as a reply."""
        raise NotImplementedError

    def _routing(self, context: Context) -> dict[str, str]:
        """The header that leads requests on one prefix to one cache."""
        name = self._quirks.cache_key_header
        return {} if name is None else {name: cache_key(context)}

    def _schema(self, request: Request) -> Mapping[str, Any] | None:
        """The schema of the answer, where the provider holds the model to it."""
        return request.schema if self._quirks.answer_schema else None

    def _sampling(self, decoding: Decoding) -> dict[str, Any]:
        """Temperature and top_p, where they are given and the model takes them."""
        given = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        wanted = given if self._quirks.sampling else {}
        return {name: value for name, value in wanted.items() if value is not None}


def _caching(quirks: Quirks) -> Caching:
    """What the engine must know of the provider's cache."""
    life = _HOUR if quirks.cache_ttl == "1h" else quirks.cache_life
    if life is None:
        return Caching(calls=quirks.cache_calls)
    return Caching(calls=quirks.cache_calls, life=life)


def cache_key(context: Context) -> str:
    """What requests on one prefix have in common, for a provider that asks for it."""
    return context.sha256[:32]


def cache_mark(quirks: Quirks) -> dict[str, Any]:
    """Anthropic's mark of where a cached prefix ends, as a field of the block that ends it."""
    lifetime = {"ttl": quirks.cache_ttl} if quirks.cache_ttl else {}
    return {"cache_control": {"type": "ephemeral", **lifetime}}


def _without(secrets: Sequence[str], reply: Reply) -> Reply:
    """The reply without keys that the server echoed in what it said."""
    if not secrets:
        return reply
    said = {name: getattr(reply, name) or "" for name in ("text", "stop_reason", "served_model")}
    if not any(secret in text for secret in secrets for text in said.values()):
        return reply
    told = {name: blot(text, secrets) for name, text in said.items() if text}
    return msgspec.structs.replace(reply, **told)


def json_reader(form: type[T]) -> Callable[[bytes], T]:
    """Reads a body as `form`; a byte order mark or half a surrogate pair costs no answer.

    What it returns raises `MsgspecError` or `ValueError` for a body that is no such document.
    """
    decode = msgspec.json.Decoder(form).decode

    def read(body: bytes) -> T:
        try:
            return decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            value = json.loads(body.decode("utf-8-sig"))
            whole = mend_halves(json.dumps(value, ensure_ascii=False))
            return decode(whole.encode())

    return read


def answered(text: str, *, called_tool: bool, told: dict[str, Any]) -> Answer | Failed:
    """A complete answer; one without visible text is a failure."""
    if text.strip():
        return Answer(text=text, **told)
    what = "called a tool" if called_tool else "wrote no visible text"
    return Failed(kind=FailureKind.EMPTY, message=f"the model {what}", **told)
