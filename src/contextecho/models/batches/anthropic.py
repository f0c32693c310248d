"""Anthropic's Message Batches: requests go in one body, results come as lines.

The one thing to know: a batch bears no marker. After a crash it is known again by the custom
ids in its results, which are there once it has ended.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from tempfile import TemporaryFile

import msgspec

from contextecho.contexts import Request
from contextecho.models.anthropic import AnthropicMessages, read_error
from contextecho.models.batches.desk import Desk, as_failure
from contextecho.models.batches.port import Oddity, Result, Standing, unanswered
from contextecho.models.endpoint import Exchange
from contextecho.models.model import Failed, Refusal
from contextecho.models.providers import BatchTerms

_AT = ("messages", "batches")
_PAGE = 100
_ITEM = b'{"custom_id":"%s","params":%s}'
_NEVER = {"canceled": "was cancelled", "expired": "expired"}


class _Counts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class _Batch(msgspec.Struct):
    id: str
    processing_status: str
    created_at: datetime
    request_counts: _Counts = msgspec.field(default_factory=_Counts)


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False
    last_id: str | None = None


class _Outcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    result: _Outcome


_decode = msgspec.json.Decoder(_Line).decode


class AnthropicBatches:
    """The Message Batches of one model."""

    marks = False

    def __init__(self, model: AnthropicMessages, terms: BatchTerms) -> None:
        """`model` renders the requests and reads the answers."""
        self.terms = terms
        self._model = model
        self._desk = Desk(model.endpoint, "messages")

    def size(self, request: Request) -> int:
        """Bytes that a request takes in a batch."""
        return len(_ITEM) + len(request.key) + len(self._model.body(request))

    async def submit(self, marker: str, requests: Sequence[Request]) -> Standing | Failed:
        """Give requests to the provider; it takes no marker."""
        with TemporaryFile() as file:
            file.write(b'{"requests":[')
            for number, request in enumerate(requests):
                item = _ITEM % (request.key.encode(), self._model.body(request))
                file.write(b"," * (number > 0) + item)
            file.write(b"]}")
            batch = await self._desk.post(_Batch, file, *_AT)
        return batch if isinstance(batch, Failed) else _standing(batch)

    async def look(self, batch: str) -> Standing | Failed:
        """How a batch stands."""
        found = await self._desk.get(_Batch, *_AT, batch)
        return found if isinstance(found, Failed) else _standing(found)

    async def search(self, marker: str, since: float) -> list[Standing] | Failed:
        """Every batch created since then: none bears a marker."""
        found: list[Standing] = []
        query: dict[str, object] = {"limit": _PAGE}
        while True:
            page = await self._desk.get(_Page, *_AT, query=query)
            if isinstance(page, Failed):
                return page
            new = [s for s in map(_standing, page.data) if s.created_at >= since]
            found += new
            if len(new) < len(page.data) or not page.has_more or not page.last_id:
                return found[::-1]
            query["after_id"] = page.last_id

    async def results(self, standing: Standing) -> AsyncGenerator[Result | Oddity | Failed, None]:
        """What came back."""
        async for line in self._desk.lines(*_AT, standing.id, "results"):
            if isinstance(line, Failed):
                yield line
            elif isinstance(line, Refusal):
                yield as_failure(line)
            elif line.strip():
                yield self._read(line)

    def _read(self, line: bytes) -> Result | Oddity:
        try:
            told = _decode(line)
            outcome = told.result
            if outcome.type == "succeeded":
                reply = self._model.read(Exchange(bytes(outcome.message), 0.0))
                return Result(told.custom_id, reply)
            if outcome.type in _NEVER:
                return unanswered(told.custom_id, _NEVER[outcome.type])
            return Result(told.custom_id, read_error(bytes(outcome.error), self._desk.secrets))
        except (msgspec.MsgspecError, ValueError):
            return Oddity(f"a line of the results cannot be read: {self._desk.say(line[:80])}")


def _standing(batch: _Batch) -> Standing:
    counts: dict[str, int] = msgspec.structs.asdict(batch.request_counts)
    total = sum(counts.values())
    ended = batch.processing_status == "ended"
    return Standing(
        id=batch.id,
        created_at=batch.created_at.timestamp(),
        ended=ended,
        total=total,
        done=total - counts["processing"] if ended else None,  # it counts only at the end
    )
