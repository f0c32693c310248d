"""Mistral's batch jobs: a file of requests goes up, a job of one model reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from contextecho.models.batches.files import MARK, PATH, FileBatches
from contextecho.models.batches.port import Standing
from contextecho.models.model import Failed

_AT = ("batch", "jobs")
_PAGE = 100
_ITEM = b'{"custom_id":"%s","body":%s}'
_ENDED = {"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"}


class _Error(msgspec.Struct):
    message: str = ""


class _Job(msgspec.Struct):
    id: str
    status: str
    created_at: float
    total_requests: int | None = None
    completed_requests: int | None = None
    output_file: str | None = None
    error_file: str | None = None
    errors: list[_Error] | None = None
    metadata: Mapping[str, Any] | None = None


class _Page(msgspec.Struct):
    data: list[_Job] | None = None


class MistralBatches(FileBatches[_Job]):
    """The batch jobs of one model."""

    _form = _Job
    _at = _AT
    _item = _ITEM

    async def search(self, marker: str, since: float) -> list[Standing] | Failed:
        """The jobs that bear the marker."""
        found: list[_Job] = []
        query: dict[str, object] = {"page": 0, "page_size": _PAGE, "order_by": "-created"}
        for number in range(_PAGE):
            page = await self._desk.get(_Page, *_AT, query={**query, "page": number})
            if isinstance(page, Failed):
                return page
            jobs = page.data or []
            new = [job for job in jobs if job.created_at >= since]
            found += [job for job in new if (job.metadata or {}).get(MARK) == marker]
            if len(new) < _PAGE:
                break
        return [self._standing(job) for job in reversed(found)]

    def _wanted(self, file: str, marker: str) -> dict[str, object]:
        return {
            "input_files": [file],
            "endpoint": f"/v1/{PATH}",
            "model": self._model,
            "metadata": {MARK: marker},
            "timeout_hours": self.terms.hours,
        }

    def _standing(self, job: _Job) -> Standing:
        files = tuple(file for file in (job.output_file, job.error_file) if file)
        refused = None
        if job.status == "FAILED" and not files:
            said = "; ".join(error.message for error in job.errors or [] if error.message)
            refused = self._desk.say(said or "no reason given")
        return Standing(
            id=job.id,
            created_at=job.created_at,
            ended=job.status in _ENDED,
            total=job.total_requests,
            done=job.completed_requests,
            results=files,
            refused=refused,
        )
