"""OpenAI's Batch API: a file of requests goes up, a batch names it, two files come back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from contextecho.models.batches.files import MARK, PATH, FileBatches
from contextecho.models.batches.port import Standing
from contextecho.models.model import Failed

_AT = "batches"
_PAGE = 100
_ENDPOINT = f"/v1/{PATH}"
_ITEM = b'{"custom_id":"%%s","method":"POST","url":"%s","body":%%s}' % _ENDPOINT.encode()
_ENDED = {"completed", "failed", "expired", "cancelled"}
_QUEUE_FULL = "token_limit_exceeded"  # of the tokens that may wait there at once


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Errors(msgspec.Struct):
    data: list[_Error] | None = None


class _Counts(msgspec.Struct):
    completed: int = 0
    failed: int = 0
    total: int = 0


class _Batch(msgspec.Struct):
    id: str
    status: str
    created_at: float
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Errors | None = None
    request_counts: _Counts | None = None
    metadata: Mapping[str, str] | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False


class OpenAIBatches(FileBatches[_Batch]):
    """The batches of one model."""

    _form = _Batch
    _at = (_AT,)
    _item = _ITEM

    async def search(self, marker: str, since: float) -> list[Standing] | Failed:
        """The batches that bear the marker."""
        found: list[_Batch] = []
        query: dict[str, object] = {"limit": _PAGE}
        while True:
            page = await self._desk.get(_Page, _AT, query=query)
            if isinstance(page, Failed):
                return page
            new = [batch for batch in page.data if batch.created_at >= since]
            found += [batch for batch in new if (batch.metadata or {}).get(MARK) == marker]
            if len(new) < len(page.data) or not page.has_more or not new:
                return [self._standing(batch) for batch in reversed(found)]
            query["after"] = page.data[-1].id

    def _wanted(self, file: str, marker: str) -> dict[str, object]:
        return {
            "input_file_id": file,
            "endpoint": _ENDPOINT,
            "completion_window": f"{self.terms.hours}h",
            "metadata": {MARK: marker},
        }

    def _standing(self, batch: _Batch) -> Standing:
        counts = batch.request_counts
        files = (batch.output_file_id, batch.error_file_id)
        refused, full = None, False
        if batch.status == "failed":
            errors = (batch.errors.data if batch.errors else None) or [_Error()]
            refused = self._desk.say(errors[0].message or errors[0].code or "no reason given")
            full = any(error.code == _QUEUE_FULL for error in errors)
        return Standing(
            id=batch.id,
            created_at=batch.created_at,
            ended=batch.status in _ENDED,
            total=counts.total if counts else None,
            done=counts.completed + counts.failed if counts else None,
            results=tuple(file for file in files if file),
            refused=refused,
            queue_full=full,
        )
