"""A provider that takes requests in batches too: Anthropic's, OpenAI's and Mistral's way.

Live calls and batches are answered by the same hand, so that what comes of both can be compared.
A batch ends after it was looked at `looks` times. What befalls its items are `fates`, in turn.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from aiohttp import web

from servers.fake import FakeProvider, Fault, completion, message
from servers.rules import anthropic_faults, openai_faults

STEP = 1.0  # seconds between the creation of two batches


class Fate(StrEnum):
    """What befalls a request in a batch instead of an answer."""

    INVALID = "invalid"  # an error that asking again cannot mend
    OVERLOADED = "overloaded"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"  # Anthropic: an error; OpenAI and Mistral: no response
    MISSING = "missing"  # no line
    TWICE = "twice"  # the line, and another one with another answer
    STRANGER = "stranger"  # the line, and one of a request that nobody made
    GARBAGE = "garbage"  # the line, and half of another


@dataclass(eq=False)
class _Batch:
    name: str
    created: float
    items: list[dict[str, Any]]
    given: dict[str, Any]  # what else it was made with
    looks: int
    home: str  # the server's address
    ends_as: str = "ended"  # or: failed
    is_over: bool = False  # its items are answered
    lines: list[tuple[bool, str]] = field(default_factory=list)  # whether an error; the line


class BatchingProvider(FakeProvider):
    """A `FakeProvider` with batch APIs."""

    def __init__(
        self,
        *,
        looks: int = 1,
        fates: Iterable[Fate | None] = (),
        submit_faults: Iterable[Fault | None] = (),
        queue: int | None = None,
        **settings: Any,
    ) -> None:
        """`submit_faults` befall the creation of batches: CUT takes one and hangs up, RESET
        hangs up without taking it. More than `queue` requests in one batch fail OpenAI's way.
        """
        super().__init__(**settings)
        self.looks = looks
        self.queue = queue
        self.batches: dict[str, _Batch] = {}
        self.submissions: list[dict[str, Any]] = []  # bodies of the creating calls
        self.uploads: list[dict[str, Any]] = []  # fields of uploaded files
        self.taken: Counter[str] = Counter()  # custom ids of batches that were taken
        self.answered_items: Counter[str] = Counter()  # custom ids that were answered: billed
        self.cuts: list[int] = []  # after so many lines of results the connection ends, in turn
        self.hold: str | None = None  # "before" a batch is taken, or "after", its answer waits
        self.stall: int | None = None  # results stop after so many lines, until it is None
        self.stalled = False
        self.away = 0  # so many looks at a batch meet a 503 instead
        self.submitting = 0
        self._fates = iter(fates)
        self._submit_faults = iter(submit_faults)
        self.files: dict[str, bytes] = {}

    def add_routes(self, app: web.Application) -> None:
        """The batch APIs."""
        at = app.router
        at.add_post("/v1/messages/batches", self._anthropic_create)
        at.add_get("/v1/messages/batches", self._anthropic_list)
        at.add_get("/v1/messages/batches/{name}", self._anthropic_get)
        at.add_get("/v1/messages/batches/{name}/results", self._anthropic_results)
        at.add_post("/v1/files", self._upload)
        at.add_get("/v1/files/{name}/content", self._content)
        at.add_post("/v1/batches", self._openai_create)
        at.add_get("/v1/batches", self._openai_list)
        at.add_get("/v1/batches/{name}", self._openai_get)
        at.add_post("/v1/batch/jobs", self._mistral_create)
        at.add_get("/v1/batch/jobs", self._mistral_list)
        at.add_get("/v1/batch/jobs/{name}", self._mistral_get)

    # Creating

    async def _create(
        self, request: web.Request, items: list[dict[str, Any]], given: dict[str, Any], prefix: str
    ) -> _Batch | web.Response:
        self.submitting += 1
        self.headers.append({k.lower(): v for k, v in request.headers.items()})
        await self._held("before")
        fault = next(self._submit_faults, None)
        if fault is Fault.RESET:
            return self.abort(request)
        if fault is not None and fault is not Fault.CUT:
            key = request.headers.get("authorization") or request.headers.get("x-api-key") or ""
            return self.error(fault, f"no: {key.removeprefix('Bearer ')}")
        if request.transport is None:
            return web.Response()
        name = f"{prefix}{len(self.batches):04}"
        created = time.time() + STEP * len(self.batches)
        batch = self.batches[name] = _Batch(name, created, items, given, self.looks, self.url)
        if self.queue is not None and len(items) > self.queue:
            batch.ends_as = "failed"
        else:
            self.taken.update(item["custom_id"] for item in items)
        await self._held("after")
        return self.abort(request) if fault is Fault.CUT else batch

    async def _held(self, when: str) -> None:
        while self.hold == when:
            await asyncio.sleep(0.005)

    async def _anthropic_create(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        self.submissions.append(body)
        made = await self._create(request, body["requests"], {}, "msgbatch_")
        return made if isinstance(made, web.Response) else web.json_response(_message_batch(made))

    async def _openai_create(self, request: web.Request) -> web.Response:
        return await self._of_file(request, "input_file_id", "batch_", _openai_batch)

    async def _mistral_create(self, request: web.Request) -> web.Response:
        return await self._of_file(request, "input_files", "job_", _job)

    async def _of_file(
        self, request: web.Request, field: str, prefix: str, shown: Any
    ) -> web.Response:
        given = json.loads(await request.read())
        self.submissions.append(given)
        name = given[field] if isinstance(given[field], str) else given[field][0]
        items = [json.loads(line) for line in self.files[name].splitlines()]
        made = await self._create(request, items, given, prefix)
        return made if isinstance(made, web.Response) else web.json_response(shown(made))

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        data = file.file.read()
        name = f"file-{len(self.files):04}"
        self.files[name] = data
        told = {"purpose": form["purpose"], "filename": file.filename, "bytes": len(data)}
        self.uploads.append(told)
        more = {"id": name, "object": "file", "created_at": 1, "status": "processed"}
        return web.json_response({**told, **more})

    # Looking

    def _look(self, request: web.Request) -> _Batch | None:
        batch = self.batches.get(request.match_info["name"])
        if batch is not None and batch.looks:
            batch.looks -= 1
        return batch

    def _found(self, request: web.Request, shown: Any) -> web.Response:
        if self.away:
            self.away -= 1
            return web.Response(status=503)
        batch = self._look(request)
        if batch is None:
            return self.error(Fault.NOT_FOUND, "no such batch")
        self._finish(batch)
        return web.json_response(shown(batch))

    async def _anthropic_get(self, request: web.Request) -> web.Response:
        return self._found(request, _message_batch)

    async def _openai_get(self, request: web.Request) -> web.Response:
        return self._found(request, _openai_batch)

    async def _mistral_get(self, request: web.Request) -> web.Response:
        return self._found(request, _job)

    def _newest(self) -> list[_Batch]:
        for batch in self.batches.values():
            if batch.looks:
                batch.looks -= 1
            self._finish(batch)
        return list(self.batches.values())[::-1]

    async def _anthropic_list(self, request: web.Request) -> web.Response:
        page, more = _page(self._newest(), request, "after_id")
        data = [_message_batch(batch) for batch in page]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
        none = {"first_id": None, "last_id": None}
        return web.json_response({"data": data, "has_more": more, **none, **ends})

    async def _openai_list(self, request: web.Request) -> web.Response:
        page, more = _page(self._newest(), request, "after")
        data = [_openai_batch(batch) for batch in page]
        return web.json_response({"object": "list", "data": data, "has_more": more})

    async def _mistral_list(self, request: web.Request) -> web.Response:
        assert request.query["order_by"] == "-created"
        page, size = int(request.query["page"]), int(request.query["page_size"])
        jobs = self._newest()
        data = [_job(batch) for batch in jobs[page * size : (page + 1) * size]]
        return web.json_response({"object": "list", "data": data, "total": len(jobs)})

    # Results

    def _finish(self, batch: _Batch) -> None:
        """Answer the items, once, when the batch ends."""
        if batch.looks or batch.is_over or batch.ends_as == "failed":
            return
        batch.is_over = True
        anthropic = batch.name.startswith("msgbatch")
        for item in batch.items:
            batch.lines += self._item_lines(item, next(self._fates, None), anthropic)
        batch.lines.reverse()  # in any order

    def _item_lines(
        self, item: dict[str, Any], fate: Fate | None, anthropic: bool
    ) -> list[tuple[bool, str]]:
        name, body = item["custom_id"], item["params" if anthropic else "body"]
        self.broken_rules += (anthropic_faults if anthropic else openai_faults)(body)
        line = _anthropic_line if anthropic else _file_line
        if fate is Fate.MISSING:
            return []
        if fate in _NO_ANSWER:
            return [(True, json.dumps({"custom_id": name, **line(fate, None)}))]
        self.answered_items[name] += 1
        answer = (message if anthropic else completion)(
            body, self.say(body), None, self.bill(body, self.say(body))
        )
        good = (False, json.dumps({"custom_id": name, **line(None, answer)}))
        if fate is Fate.TWICE:
            other = (message if anthropic else completion)(body, "Another answer.", None, (1, 0, 1))
            return [(False, json.dumps({"custom_id": name, **line(None, other)})), good]
        if fate is Fate.STRANGER:
            return [good, (False, json.dumps({"custom_id": "nobody-s", **line(None, answer)}))]
        if fate is Fate.GARBAGE:
            return [good, (False, good[1][: len(good[1]) // 2])]
        return [good]

    async def _anthropic_results(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches[request.match_info["name"]]
        return await self._send(request, [line for _, line in batch.lines])

    async def _content(self, request: web.Request) -> web.StreamResponse:
        name, _, which = request.match_info["name"].partition(".")
        wanted = which == "errors"
        lines = [line for is_error, line in self.batches[name].lines if is_error is wanted]
        return await self._send(request, lines)

    async def _send(self, request: web.Request, lines: list[str]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/x-jsonl"})
        await response.prepare(request)
        cut = self.cuts.pop(0) if self.cuts else None
        for number, line in enumerate(lines):
            while self.stall is not None and number >= self.stall:
                self.stalled = True
                await asyncio.sleep(0.01)
            if number == cut:
                await response.write(line[: len(line) // 2].encode())
                self.abort(request)
                return response
            await response.write(line.encode() + b"\n")
        return response


_NO_ANSWER = {
    Fate.INVALID,
    Fate.OVERLOADED,
    Fate.EXPIRED,
    Fate.CANCELLED,
    Fate.TIMED_OUT,
}
_ERRORS = {
    Fate.INVALID: (400, "invalid_request_error"),
    Fate.OVERLOADED: (529, "overloaded_error"),
    Fate.TIMED_OUT: (504, "timeout_error"),
}


def _anthropic_line(fate: Fate | None, answer: dict[str, Any] | None) -> dict[str, Any]:
    if fate in (Fate.EXPIRED, Fate.CANCELLED):
        return {"result": {"type": {"cancelled": "canceled"}.get(fate, fate)}}
    if fate is not None:
        error = {"type": _ERRORS[fate][1], "message": f"it was {fate}"}
        return {"result": {"type": "errored", "error": {"type": "error", "error": error}}}
    return {"result": {"type": "succeeded", "message": answer}}


def _file_line(fate: Fate | None, answer: dict[str, Any] | None) -> dict[str, Any]:
    codes = {
        Fate.EXPIRED: "batch_expired",
        Fate.CANCELLED: "batch_cancelled",
        Fate.TIMED_OUT: "request_timeout",
    }
    if fate in codes:
        error = {"code": codes[fate], "message": f"it was {fate}"}
        return {"id": "batch_req_1", "response": None, "error": error}
    status, body = 200, answer
    if fate is not None:
        status, kind = _ERRORS[fate]
        body = {"error": {"message": f"it was {fate}", "type": kind, "param": None, "code": kind}}
    response = {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "response": response, "error": None}


def _page(batches: list[_Batch], request: web.Request, cursor: str) -> tuple[list[_Batch], bool]:
    after, limit = request.query.get(cursor), int(request.query.get("limit", 20))
    names = [batch.name for batch in batches]
    start = names.index(after) + 1 if after else 0
    return batches[start : start + limit], start + limit < len(batches)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _message_batch(batch: _Batch) -> dict[str, Any]:
    ended = not batch.looks
    kinds = Counter(
        json.loads(line)["result"]["type"] for _, line in batch.lines if line[-1] == "}"
    )
    names = ("succeeded", "errored", "canceled", "expired")
    counts = {name: kinds[name] if ended else 0 for name in names}
    counts["processing"] = 0 if ended else len(batch.items)
    if ended:  # the sum always matches the total
        counts["succeeded"] += len(batch.items) - sum(counts.values())
    results = f"{batch.home}/messages/batches/{batch.name}/results"
    return {
        "id": batch.name,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": counts,
        "created_at": _moment(batch.created),
        "expires_at": _moment(batch.created + 86_400),
        "ended_at": _moment(batch.created + 60) if ended else None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": results if ended else None,
    }


def _openai_batch(batch: _Batch) -> dict[str, Any]:
    failed = batch.ends_as == "failed"
    expired = any("batch_expired" in line for _, line in batch.lines)
    ended = "failed" if failed else "expired" if expired else "completed"
    status = "in_progress" if batch.looks else ended
    errors = sum(is_error for is_error, _ in batch.lines)
    counts = {"total": 0 if failed else len(batch.items), "failed": errors}
    error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": 1}
    return {
        "id": batch.name,
        "object": "batch",
        "endpoint": batch.given["endpoint"],
        "input_file_id": batch.given["input_file_id"],
        "completion_window": batch.given["completion_window"],
        "metadata": batch.given.get("metadata"),
        "status": status,
        "created_at": int(batch.created),
        "request_counts": {**counts, "completed": len(batch.lines) - errors},
        "errors": {"object": "list", "data": [error]} if status == "failed" else None,
        "output_file_id": batch.name if batch.lines else None,
        "error_file_id": f"{batch.name}.errors" if errors else None,
    }


def _job(batch: _Batch) -> dict[str, Any]:
    errors = sum(is_error for is_error, _ in batch.lines)
    late = any("batch_expired" in line for _, line in batch.lines)
    ended = "TIMEOUT_EXCEEDED" if late else "SUCCESS"
    return {
        "id": batch.name,
        "object": "batch",
        "input_files": batch.given["input_files"],
        "metadata": batch.given.get("metadata"),
        "endpoint": batch.given["endpoint"],
        "model": batch.given["model"],
        "status": "RUNNING" if batch.looks else ended,
        "created_at": int(batch.created),
        "total_requests": len(batch.items),
        "completed_requests": len(batch.lines),
        "succeeded_requests": len(batch.lines) - errors,
        "failed_requests": errors,
        "output_file": batch.name if batch.lines else None,
        "error_file": f"{batch.name}.errors" if errors else None,
        "errors": [],
    }
