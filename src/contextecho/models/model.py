"""Who answers: one interface, messages in, a reply out.

`Reply = Answer | Refusal | Truncated | Failed`. Only an `Answer` can be scored;
the other three are counted and shown, never averaged (design, section 3). An
answer is never empty: an empty one is `Failed(kind="empty")`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, Self

import msgspec

from contextecho.contexts import Request


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider billed them; `None` where it did not say.

    `input` counts all prompt tokens, cached ones included; `cached` those read
    from a cache; `cache_write` those written to one; `output` includes `reasoning`.
    """

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider still lets us do, as a reply's headers said; `None` where they did not.

    Limits are per minute: a provider's limit for another span is not told here. `left` is
    what remains until `reset`, which is in seconds after the reply. Of tokens it is the limit
    that a long prefix meets first: input tokens where a provider counts them apart.
    """

    requests_limit: float | None = None
    requests_left: float | None = None
    requests_reset: float | None = None
    tokens_limit: float | None = None
    tokens_left: float | None = None
    tokens_reset: float | None = None


class FailureKind(StrEnum):
    """Why there is no answer."""

    EMPTY = "empty"  # an answer without visible text
    RATE_LIMIT = "rate_limit"  # 429, 529
    SERVER = "server"  # 5xx, cut connections, timeouts
    NOT_JSON = "not_json"  # an answer that is not the wire format (HTML, ...)
    BAD_REQUEST = "bad_request"  # 400, 413, 422: asking again cannot help
    AUTH = "auth"  # 401, 403: stop this provider
    NOT_FOUND = "not_found"  # 404: no such model or URL
    UNREACHABLE = "unreachable"  # connection refused, no such host


class _Base(msgspec.Struct, frozen=True, kw_only=True, tag_field="outcome"):
    text: str = ""
    stop_reason: str | None = None
    usage: Usage | None = None
    served_model: str | None = None
    seconds: float = 0.0  # from sending to the last byte
    allowance: Allowance | None = None  # of the moment; it is not stored


class Answer(_Base, frozen=True, kw_only=True, tag="answer"):
    """A complete answer with visible text."""


class Refusal(_Base, frozen=True, kw_only=True, tag="refusal"):
    """The provider or the model refused by a declared stop reason or refusal field."""


class Truncated(_Base, frozen=True, kw_only=True, tag="truncated"):
    """The output budget ran out; `text` is what came until then."""


_SEE_TO = {
    FailureKind.AUTH: "see to its key and credit",
    FailureKind.NOT_FOUND: "see to the model's name and the base URL, which usually ends in /v1",
    FailureKind.UNREACHABLE: "see that a server listens at its address",
}


class Failed(_Base, frozen=True, kw_only=True, tag="failed"):
    """No answer. `retry_after` are the seconds that the provider asked to wait."""

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    final: bool = False  # the provider says that asking again cannot help; it is not stored

    @property
    def retryable(self) -> bool:
        """Whether asking again may help."""
        return not self.final and self.kind in (
            FailureKind.EMPTY,
            FailureKind.RATE_LIMIT,
            FailureKind.SERVER,
            FailureKind.NOT_JSON,
        )

    @property
    def stops_target(self) -> bool:
        """Whether every further call to this target would fail the same way."""
        return self.kind in _SEE_TO

    @property
    def why_stopped(self) -> str:
        """The message of a failure that stops its target, and what the user should see to."""
        return f"{self.message} ({_SEE_TO[self.kind]})"


Reply = Answer | Refusal | Truncated | Failed


class Caching(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider's prompt cache needs, and how long it keeps a prefix.

    Where a provider does not say how long, the shortest time that any says is assumed: then a
    prefix is at worst warmed once too often, which costs the wait for one call.
    """

    calls: int = 1  # answers that must have begun before a prefix is read from the cache
    life: float = 300.0  # seconds without use after which it may be gone


class Model(Protocol):
    """A target or a judge. Used as an async context manager by the engine."""

    id: str  # canonical, "provider/model"
    free: bool  # costs no money (local, simulated, recorded)
    max_concurrency: int | None  # calls at a time; None: as many as the provider bears
    notes: tuple[str, ...]  # what the user must know about how it is asked, one line each
    caching: Caching = Caching()
    account: str | None = None  # models of one account share its limits; None: it has its own
    cached_count: bool = True  # tokens read from a cache count towards the limit of a minute

    async def answer(self, request: Request) -> Reply:
        """Answer one request, once: no retries here, and no exception for a failed call."""
        ...

    async def close(self) -> None:
        """Release connections and servers."""
        ...

    async def __aenter__(self) -> Self:
        """The model itself; `close` is called when the block is left."""
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
