"""A provider's prompt cache, simulated: what each call reads, writes and costs.

In a test, over the wire::

    async with CachingServer(POLICIES["anthropic"], clock=clock) as server:
        model = open_model("anthropic/claude-sonnet-4-6", base_url=server.url)

or without a socket, on a loop whose clock is moved (`servers.virtual`).

Rules, from the providers' documentation and independent of our table of them: a prefix
is there once the first answer to it begins; it must have a least length; implicit caches
match in steps, marked ones where a mark stands, DeepSeek's what two requests had in common
(that it also keeps the end of a request, for those that go on from there, is left out); each
use begins a prefix's life anew. Four bytes of a request are one token; prices are in fresh tokens.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, Self

from aiohttp import web

BYTES_PER_TOKEN = 4
HOUR = 3600.0


class Policy(NamedTuple):
    """How one provider caches and bills."""

    how: Literal["none", "implicit", "marks", "units"]
    least: int = 0  # tokens
    step: int = 1  # tokens
    life: float = 0.0  # seconds
    read: float = 1.0  # price of a token that is read from the cache
    write: float = 1.0  # of one that is written to it
    write_hour: float = 2.0  # of one that is written to it for an hour
    output: float = 5.0  # of one that the model writes
    marks_end: bool = False  # the end of a request is marked too, unless it says otherwise


POLICIES = {
    "none": Policy("none"),
    "openai": Policy("implicit", least=1024, step=128, life=300.0, read=0.1, output=8.0),
    "openai-5.6": Policy(
        "marks", least=1024, life=1800.0, read=0.1, write=1.25, output=8.0, marks_end=True
    ),
    "anthropic": Policy("marks", least=1024, life=300.0, read=0.1, write=1.25),
    # Google names neither step nor life; these are the simulator's own.
    "google": Policy("implicit", least=2048, step=128, life=300.0, read=0.25, output=8.0),
    "deepseek": Policy("units", least=64, step=64, life=7200.0, read=0.1, output=2.0),
}


class Block(NamedTuple):
    """A piece of a request, and for how long the prefix that it ends is to be kept, if it is."""

    text: bytes
    life: float | None = None


@dataclass
class Visit:
    """One request at the cache, from its arrival to the beginning of its answer."""

    tokens: int  # of the whole request
    read: int = 0
    written: dict[float, int] = field(default_factory=dict)  # tokens by the life they are kept
    keys: list[tuple[bytes, float]] = field(default_factory=list)  # what it will leave, how long

    @property
    def fresh(self) -> int:
        """Tokens that were neither read nor written."""
        return self.tokens - self.read - sum(self.written.values())


class PromptCache:
    """What a provider remembers of requests, on a clock."""

    def __init__(self, policy: Policy, clock: Callable[[], float] = time.monotonic) -> None:
        self.policy = policy
        self._clock = clock
        self._alive: dict[bytes, tuple[float, float]] = {}  # key -> until when, life
        self._seen: set[bytes] = set()

    def arrive(self, body: dict[str, Any]) -> Visit:
        """A request arrives: what is read from the cache now, and what it will leave there."""
        blocks = list(_blocks(body, self.policy))
        if self.policy.marks_end and body.get("prompt_cache_options") != {"mode": "explicit"}:
            blocks[-1] = blocks[-1]._replace(life=self.policy.life)
        visit = Visit(sum(len(block.text) for block in blocks) // BYTES_PER_TOKEN)
        if self.policy.how == "marks":
            self._marked(blocks, visit)
        elif self.policy.how != "none":
            self._implied(b"".join(block.text for block in blocks), visit)
        return visit

    def answer(self, visit: Visit) -> None:
        """The answer begins: what the request leaves is there from now on."""
        for key, life in visit.keys:
            self._alive[key] = (self._clock() + life, life)

    def _use(self, key: bytes) -> bool:
        """Whether a prefix is there; if so its life begins anew."""
        until, life = self._alive.get(key, (0.0, 0.0))
        if until <= self._clock():
            return False
        self._alive[key] = (self._clock() + life, life)
        return True

    def _marked(self, blocks: list[Block], visit: Visit) -> None:
        ends: list[tuple[int, bytes, float]] = []
        digest, length = blake2b(), 0
        for block in blocks:
            digest.update(block.text)
            length += len(block.text)
            if block.life is not None and length // BYTES_PER_TOKEN >= self.policy.least:
                ends.append((length // BYTES_PER_TOKEN, digest.copy().digest(), block.life))
        found = [end for end, key, _ in ends if self._use(key)]
        visit.read = max(found, default=0)
        done = visit.read
        for end, key, life in ends:
            if end > done:
                visit.written[life] = visit.written.get(life, 0) + end - done
                done = end
            visit.keys.append((key, life))

    def _implied(self, text: bytes, visit: Visit) -> None:
        size = self.policy.step * BYTES_PER_TOKEN
        digest, keys = blake2b(), []
        for start in range(0, len(text) - size + 1, size):
            digest.update(text[start : start + size])
            keys.append(digest.copy().digest())
        there = [n for n, key in enumerate(keys, start=1) if self._use(key)]
        longest = max(there, default=0) * self.policy.step
        visit.read = longest if longest >= self.policy.least else 0
        if self.policy.how == "implicit":
            visit.keys = [(key, self.policy.life) for key in keys]
        else:  # whole units: what the request shares with an earlier one
            shared = [key for key in keys if key in self._seen][-1:]
            visit.keys = [(key, self.policy.life) for key in shared]
            self._seen.update(keys)


def _blocks(body: dict[str, Any], policy: Policy) -> Iterator[Block]:
    """A request in the order in which it is read."""
    for tool in body.get("tools", ()):
        yield _block("tool", tool, policy)
    for part in body.get("system", ()):
        yield _block("system", part, policy)
    for message in body["messages"]:
        content = message.get("content")
        rest = {name: value for name, value in message.items() if name != "content"}
        if not isinstance(content, list):
            yield _block("", rest | {"content": content}, policy)
            continue
        for part in content:
            yield _block(str(rest), part, policy)


def tokens_of(body: dict[str, Any], policy: Policy) -> tuple[int, int]:
    """Tokens of a request before its last message, and of all of it."""
    *before, last = [len(block.text) for block in _blocks(body, policy)]
    return sum(before) // BYTES_PER_TOKEN, (sum(before) + last) // BYTES_PER_TOKEN


def _block(before: str, part: dict[str, Any], policy: Policy) -> Block:
    bare = {name: value for name, value in part.items() if name not in _MARKS}
    mark = next((part[name] for name in _MARKS if name in part), None)
    life = None if mark is None else HOUR if mark.get("ttl") == "1h" else policy.life
    return Block(f"{before} {json.dumps(bare)}\n".encode(), life)


_MARKS = ("cache_control", "prompt_cache_breakpoint")


class Simulator:
    """A provider that answers with one text and keeps accounts, in tokens and fresh tokens."""

    def __init__(
        self,
        policy: Policy,
        *,
        clock: Callable[[], float] = time.monotonic,
        latency: float = 0.0,
        text: str = "I would rather not say, but I am an assistant.",
    ) -> None:
        self.policy = policy
        self.cache = PromptCache(policy, clock)
        self.visits: list[Visit] = []
        self._latency = latency
        self._text = text

    async def reply(self, body: dict[str, Any], *, anthropic: bool) -> dict[str, Any]:
        """The answer to a request, with the usage fields of its provider."""
        visit = self.cache.arrive(body)
        if self._latency:
            await asyncio.sleep(self._latency)
        self.cache.answer(visit)
        self.visits.append(visit)
        return (_message if anthropic else _completion)(body, visit, self._text, self.policy)

    @property
    def processed(self) -> int:
        """Tokens that were prefilled or written to the cache."""
        return sum(visit.tokens - visit.read for visit in self.visits)

    @property
    def cost(self) -> float:
        """What the requests cost, in fresh tokens; the model's own words are not among them."""
        return sum(map(self._cost, self.visits))

    @property
    def tokens(self) -> int:
        """Tokens of all requests, which is what they cost where nothing is cached."""
        return sum(visit.tokens for visit in self.visits)

    @property
    def cost_of_replies(self) -> float:
        """What the model's own words cost, in fresh tokens."""
        return len(self.visits) * (len(self._text) // BYTES_PER_TOKEN) * self.policy.output

    def _cost(self, visit: Visit) -> float:
        policy = self.policy
        written = sum(
            tokens * (policy.write_hour if life == HOUR else policy.write)
            for life, tokens in visit.written.items()
        )
        return visit.fresh + visit.read * policy.read + written


def _completion(body: dict[str, Any], visit: Visit, text: str, policy: Policy) -> dict[str, Any]:
    output = len(text) // BYTES_PER_TOKEN
    usage: dict[str, Any] = {
        "prompt_tokens": visit.tokens,
        "completion_tokens": output,
        "total_tokens": visit.tokens + output,
    }
    if policy.how == "units":
        usage["prompt_cache_hit_tokens"] = visit.read
        usage["prompt_cache_miss_tokens"] = visit.tokens - visit.read
    elif policy.how != "none":
        usage["prompt_tokens_details"] = {"cached_tokens": visit.read}
        if policy.how == "marks":
            written = sum(visit.written.values())
            usage["prompt_tokens_details"]["cache_write_tokens"] = written
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


def _message(body: dict[str, Any], visit: Visit, text: str, policy: Policy) -> dict[str, Any]:
    hour = visit.written.get(HOUR, 0)
    return {
        "model": body["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": visit.fresh,
            "cache_read_input_tokens": visit.read,
            "cache_creation_input_tokens": sum(visit.written.values()),
            "cache_creation": {
                "ephemeral_5m_input_tokens": sum(visit.written.values()) - hour,
                "ephemeral_1h_input_tokens": hour,
            },
            "output_tokens": len(text) // BYTES_PER_TOKEN,
        },
    }


class CachingServer:
    """A simulator behind HTTP on loopback, in both wire formats."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _chat(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        return web.json_response(await self.simulator.reply(body, anthropic=False))

    async def _messages(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        return web.json_response(await self.simulator.reply(body, anthropic=True))
