"""A provider that speaks both wire formats, with switches for everything that goes wrong.

In a test::

    async with FakeProvider(faults=[Fault.RATE_LIMIT, None]) as provider:
        model = open_model("openai/x", base_url=provider.url)

As a process: `python -m servers.fake --port 8123 --always empty` (prints its
base URL; GET /log and /stats on the server's root say what it saw).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Any, Self

from aiohttp import web

from servers.rules import anthropic_faults, openai_faults
from servers.weather import weather


class Fault(StrEnum):
    """What a request meets instead of an answer."""

    RATE_LIMIT = "rate_limit"  # 429 with retry-after
    OVERLOADED = "overloaded"  # 529
    SERVER_ERROR = "server_error"  # 500
    UNAUTHORIZED = "unauthorized"  # 401, echoing the key
    NOT_FOUND = "not_found"  # 404
    BAD_REQUEST = "bad_request"  # 400
    CONTENT_FILTER = "content_filter"  # 400 with the filter's code
    NO_CREDIT = "no_credit"  # 429 insufficient_quota
    REDIRECT = "redirect"  # 302
    HTML = "html"  # 200, a web page
    WRONG_JSON = "wrong_json"  # 200, another JSON document
    ERROR_IN_200 = "error_in_200"  # 200 with an error object, as routers do
    EMPTY = "empty"  # an answer without text
    REASONING_ONLY = "reasoning_only"  # only hidden thinking
    REFUSAL = "refusal"
    LENGTH = "length"  # the output budget ran out
    SLOW = "slow"  # answers too late: after an hour
    TRICKLE = "trickle"  # answers a few bytes at a time
    CUT = "cut"  # the connection ends within the body
    RESET = "reset"  # the connection ends before the first byte
    HALF = "half"  # 200, half of the answer's JSON
    MALFORMED = "malformed"  # 200, no JSON, and called JSON
    WRONG_TYPE = "wrong_type"  # the answer, called a web page
    TWICE = "twice"  # the answer, and once more behind it


_STATUS = {
    Fault.RATE_LIMIT: (429, "rate_limit_exceeded"),
    Fault.OVERLOADED: (529, "overloaded_error"),
    Fault.SERVER_ERROR: (500, "server_error"),
    Fault.UNAUTHORIZED: (401, "invalid_api_key"),
    Fault.NOT_FOUND: (404, "model_not_found"),
    Fault.BAD_REQUEST: (400, "invalid_request_error"),
    Fault.CONTENT_FILTER: (400, "content_filter"),
    Fault.NO_CREDIT: (429, "insufficient_quota"),
}
PASSING = (
    Fault.RATE_LIMIT,
    Fault.OVERLOADED,
    Fault.SERVER_ERROR,
    Fault.HTML,
    Fault.WRONG_JSON,
    Fault.ERROR_IN_200,
    Fault.EMPTY,
    Fault.SLOW,
    Fault.TRICKLE,
    Fault.CUT,
    Fault.RESET,
    Fault.HALF,
    Fault.MALFORMED,
    Fault.WRONG_TYPE,
    Fault.TWICE,
)
STORMS = (Fault.RATE_LIMIT, Fault.OVERLOADED, Fault.SERVER_ERROR, Fault.RESET)
CHARACTERS_PER_TOKEN = 4
NOWHERE = "http://127.0.0.1:9/v1"  # the discard port: nothing listens there


class FakeProvider:
    """An HTTP server on loopback that answers like a provider and checks like one."""

    def __init__(
        self,
        *,
        faults: Iterable[Fault | None] = (),
        always: Fault | None = None,
        raw: tuple[int, bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        text: str | Callable[[dict[str, Any]], str] = "A plain answer.",
        latency: float = 0.0,
        late: float = 3600.0,
        retry_after: str = "0",
        limit: int | None = None,
        record: bool = True,
        port: int = 0,
    ) -> None:
        """`faults` befall the first requests in turn, `always` all later ones.

        `raw`, a status and a body, answers every request as it stands. All answers, and
        errors too, carry the `headers`.

        `late` is when a slow answer comes, in seconds. More than `limit` requests at
        a time get a 429. Without `record` bodies are neither kept nor checked, which
        is what a benchmark wants.
        """
        self._faults = iter(faults)
        self._always = always
        self._raw = raw
        self._headers = dict(headers or {})
        self.text = text
        self._latency = latency
        self._late = late
        self._retry_after = retry_after
        self._limit = limit
        self._record = record
        self._port = port
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []  # with their query
        self.broken_rules: list[str] = []
        self.calls = 0
        self.faults: Counter[str] = Counter()
        self.answered = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.most_answers = math.inf  # further calls wait until a test raises it
        self.billed_input = 0
        self.billed_output = 0
        self._seen_prefixes: set[bytes] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/openai/{address:.*}/chat/completions", self._chat)  # Azure's
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_get("/log", self._log)
        app.router.add_get("/stats", self._stats)
        self.add_routes(app)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def add_routes(self, app: web.Application) -> None:
        """For a provider that offers more."""

    @property
    def stats(self) -> dict[str, Any]:
        """Counts so far: all calls, answers sent, tokens billed."""
        return {
            "calls": self.calls,
            "answered": self.answered,
            "most_in_flight": self.most_in_flight,
            "billed_input": self.billed_input,
            "billed_output": self.billed_output,
            "broken_rules": len(self.broken_rules),
            "faults": self.faults,
        }

    async def _stats(self, _: web.Request) -> web.Response:
        return web.json_response(self.stats)

    async def _log(self, _: web.Request) -> web.Response:
        return web.json_response({"bodies": self.bodies, "broken_rules": self.broken_rules})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, openai_faults, completion)

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, anthropic_faults, message)

    async def _serve(
        self,
        request: web.Request,
        rules: Callable[[dict[str, Any]], list[str]],
        answer: Callable[..., dict[str, Any]],
    ) -> web.StreamResponse:
        self.calls += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            raw = await request.read()
            body = json.loads(raw)
            if self._record:
                self.raw.append(raw)
                self.bodies.append(body)
                self.paths.append(request.path_qs)
                self.headers.append({k.lower(): v for k, v in request.headers.items()})
                broken = rules(body)
                self.broken_rules += broken
                if broken:
                    return self.error(Fault.BAD_REQUEST, "; ".join(broken))
            if self._latency:
                await asyncio.sleep(self._latency)
            fault = next(self._faults, self._always)
            if self._limit is not None and self.in_flight > self._limit:
                fault = Fault.RATE_LIMIT
            if fault is not None:
                self.faults[fault] += 1
            response = await self._respond(request, body, fault, answer)
            if not response.prepared:
                response.headers.update(self._headers)
            return response
        finally:
            self.in_flight -= 1

    async def _respond(
        self,
        request: web.Request,
        body: dict[str, Any],
        fault: Fault | None,
        answer: Callable[..., dict[str, Any]],
    ) -> web.StreamResponse:
        if self._raw is not None:
            status, data = self._raw
            return web.Response(status=status, body=data, content_type="application/json")
        if fault in _STATUS:
            key = request.headers.get("authorization") or request.headers.get("x-api-key") or ""
            return self.error(fault, f"no: {key.removeprefix('Bearer ')}")
        if fault is Fault.REDIRECT:
            return web.Response(status=302, headers={"location": NOWHERE})
        if fault is Fault.HTML:
            return web.Response(
                text="<html><body>Bad gateway</body></html>", content_type="text/html"
            )
        if fault is Fault.WRONG_JSON:
            return web.json_response(["something", "else"])
        if fault is Fault.ERROR_IN_200:
            return web.json_response({"error": {"code": 429, "message": "upstream is busy"}})
        if fault is Fault.SLOW:
            await asyncio.sleep(self._late)
        if fault is Fault.CUT:
            return await self._cut(request)
        while self.answered >= self.most_answers:
            await asyncio.sleep(0.005)
        if fault is Fault.RESET:
            return self.abort(request)
        text = self.say(body)
        reply = json.dumps(answer(body, text, fault, self.bill(body, text))).encode()
        if request.transport is None:  # nobody waits for it any more
            return web.Response()
        match fault:
            case Fault.HALF:
                return _ok(reply[: len(reply) // 2])
            case Fault.MALFORMED:
                return _ok(b"{" + reply)
        self.answered += 1
        match fault:
            case Fault.WRONG_TYPE:
                return _ok(reply, "text/html")
            case Fault.TRICKLE:
                return await _trickle(request, reply)
            case Fault.TWICE:
                return _twice(request, reply)
        return _ok(reply)

    def say(self, body: dict[str, Any]) -> str:
        """The text with which a body is answered."""
        return self.text if isinstance(self.text, str) else self.text(body)

    def error(self, fault: Fault, message: str) -> web.Response:
        status, code = _STATUS[fault]
        headers = {"retry-after": self._retry_after} if status in (429, 529) else {}
        error = {"message": message, "type": code, "code": code}
        return web.json_response({"error": error}, status=status, headers=headers)

    async def _cut(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        self.abort(request)
        return response

    def abort(self, request: web.Request) -> web.Response:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    def bill(self, body: dict[str, Any], text: str) -> tuple[int, int, int]:
        """Input, cached and output tokens; what stands before the last message is the prefix."""
        *prefix, last = body["messages"]
        before = json.dumps([body.get("system"), prefix]).encode()
        cached = len(before) // CHARACTERS_PER_TOKEN if before in self._seen_prefixes else 0
        self._seen_prefixes.add(before)
        total = (len(before) + len(json.dumps(last))) // CHARACTERS_PER_TOKEN
        output = max(1, len(text) // CHARACTERS_PER_TOKEN)
        self.billed_input += total
        self.billed_output += output
        return total, cached, output


def by_request(body: dict[str, Any]) -> str:
    """A text of its own for every request, always the same one; a verdict from a `judge`."""
    if body["model"] == "judge":
        return json.dumps({"reason": "It reads like an assistant.", "score": 3})
    whole = json.dumps(body, sort_keys=True).encode()
    return f"Answer {hashlib.sha256(whole).hexdigest()[:24]}."


def _ok(body: bytes, kind: str = "application/json") -> web.Response:
    return web.Response(body=body, content_type=kind)


async def _trickle(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    for start in range(0, len(body), 100):
        await response.write(body[start : start + 100])
        await asyncio.sleep(0.01)
    return response


def _twice(request: web.Request, body: bytes) -> web.Response:
    """The same answer again behind the first, in one go; a client must not take it for the next."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    if request.transport is not None:
        request.transport.write((head.encode() + b"\r\n\r\n" + body) * 2)
        request.transport.close()
    return web.Response()


def completion(
    body: dict[str, Any], text: str, fault: Fault | None, bill: tuple[int, int, int]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    finish = "stop"
    if fault is Fault.EMPTY:
        message["content"] = ""
    elif fault is Fault.REASONING_ONLY:
        message["content"] = "<think>They ask me to choose."
    elif fault is Fault.REFUSAL:
        message |= {"content": None, "refusal": "I cannot help with that."}
    elif fault is Fault.LENGTH:
        finish = "length"
    total, cached, output = bill
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{body['model']}-served",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": total,
            "completion_tokens": output,
            "total_tokens": total + output,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def message(
    body: dict[str, Any], text: str, fault: Fault | None, bill: tuple[int, int, int]
) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    stop = "end_turn"
    if fault is Fault.EMPTY:
        content = []
    elif fault is Fault.REASONING_ONLY:
        content = [{"type": "thinking", "thinking": "They ask me to choose.", "signature": "s"}]
    elif fault is Fault.REFUSAL:
        stop = "refusal"
    elif fault is Fault.LENGTH:
        stop = "max_tokens"
    total, cached, output = bill
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-served",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": total - cached,
            "output_tokens": output,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        },
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A fake provider on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", default="", help="comma-separated; `ok` for none")
    parser.add_argument("--always", type=Fault, default=None)
    parser.add_argument("--text", default="A plain answer.")
    parser.add_argument("--by-request", action="store_true", help="each request its own text")
    parser.add_argument(
        "--weather", type=int, default=None, metavar="SEED", help="faults, for ever"
    )
    parser.add_argument("--late", type=float, default=3600.0, help="seconds, of a slow answer")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--retry-after", default="0")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--no-record", action="store_true")
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> None:
    names = [name for name in options.faults.split(",") if name]
    faults: Iterable[Fault | None] = [None if name == "ok" else Fault(name) for name in names]
    if options.weather is not None:
        faults = chain(faults, weather(options.weather, PASSING, STORMS))
    provider = FakeProvider(
        faults=faults,
        always=options.always,
        text=by_request if options.by_request else options.text,
        latency=options.latency,
        late=options.late,
        retry_after=options.retry_after,
        limit=options.limit,
        record=not options.no_record,
        port=options.port,
    )
    async with provider:
        print(provider.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
