"""What a provider's batch API can do, whichever provider it is.

The one thing to know: a batch is told by the marker that it was submitted with, or, where a
provider keeps none, by the custom ids in its results. So one that was submitted by a process
that died before it heard the answer can be found again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

import msgspec

from contextecho.contexts import Request
from contextecho.models.model import Failed, FailureKind, Reply
from contextecho.models.providers import BatchTerms


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a batch stands with its provider."""

    id: str  # the provider's name of it
    created_at: float  # Unix time, by the provider's clock
    ended: bool  # nothing more will be answered
    total: int | None = None  # requests; None: not said
    done: int | None = None  # of these, dealt with so far; None: not said before the end
    results: tuple[str, ...] = ()  # where what came back can be read, once it has ended
    refused: str | None = None  # why the provider took none of its requests
    queue_full: bool = False  # it was refused because too much waits there already


class Result(msgspec.Struct, frozen=True):
    """What one request of a batch brought."""

    custom_id: str
    reply: Reply
    billed: bool = True  # False: the provider never came to it (expired, cancelled)


class Oddity(msgspec.Struct, frozen=True):
    """A line of the results that tells of no request."""

    message: str


class BatchService(Protocol):
    """The batch API behind one target."""

    terms: BatchTerms
    marks: bool  # whether a batch bears the marker that it was submitted under

    def size(self, request: Request) -> int:
        """Bytes that a request takes in a batch."""
        ...

    async def submit(self, marker: str, requests: Sequence[Request]) -> Standing | Failed:
        """Give distinct requests to the provider, each by its key, under a marker."""
        ...

    async def look(self, batch: str) -> Standing | Failed:
        """How a batch stands, by the provider's name of it."""
        ...

    async def search(self, marker: str, since: float) -> list[Standing] | Failed:
        """Batches created since then (Unix time), the oldest first: those that bear the marker.

        All of them where none bears one.
        """
        ...

    def results(self, standing: Standing) -> AsyncGenerator[Result | Oddity | Failed, None]:
        """What came back of a batch that has ended, in any order; a failure is the last."""
        ...


def unanswered(custom_id: str, why: str) -> Result:
    """The result of a request to which the provider never came."""
    reply = Failed(kind=FailureKind.SERVER, message=f"the batch {why} before it was answered")
    return Result(custom_id, reply, billed=False)
