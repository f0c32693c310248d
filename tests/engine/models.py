"""A model without a wire: it answers from a script and remembers what it was asked when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from contextecho.contexts import Request
from contextecho.models import Answer, Model, Reply, Usage

USAGE = Usage(input=100, cached=0, cache_write=0, output=10, reasoning=0)
ANSWER = Answer(text="Fine.", usage=USAGE)


Script = Callable[[Request, int], Reply]


class ScriptedModel(Model):
    """Answers with `script(request, nth)`, `nth` counting the calls for that request from 1.

    A script that is a reply is that reply, always.
    """

    def __init__(
        self,
        target: str,
        script: Script | Reply = ANSWER,
        *,
        seconds: float = 0.0,
        max_concurrency: int | None = None,
    ) -> None:
        self.id = target
        self.free = False
        self.max_concurrency = max_concurrency
        self.notes = ()
        self.asked: list[Request] = []
        self.events: list[tuple[str, Request]] = []  # ("sent" | "back", request)
        self.in_flight = 0
        self.most_in_flight = 0
        self.closed = False
        self._script = script
        self._seconds = seconds
        self.counts: dict[str, int] = {}

    async def answer(self, request: Request) -> Reply:
        self.asked.append(request)
        self.events.append(("sent", request))
        nth = self.counts[request.key] = self.counts.get(request.key, 0) + 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self._seconds)
        self.in_flight -= 1
        self.events.append(("back", request))
        return self._script(request, nth) if callable(self._script) else self._script

    async def close(self) -> None:
        self.closed = True
