"""Hours in a second: a loop whose clock jumps to the next thing due, and models without sockets.

    model = simulated_model("anthropic/claude-sonnet-4-6", simulator)
    run_virtually(collect(plan, store, run, {model.id: model}))

A model built so renders, sends and reads exactly what it would over HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from contextecho.models import Failed, FailureKind, open_model
from contextecho.models.endpoint import Exchange
from contextecho.models.wire import WireModel
from servers.caching import Simulator

T = TypeVar("T")
Refuse = Callable[[float], float]


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes only while nothing is left to do, and then at once."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers = self._scheduled  # type: ignore[attr-defined]
        due = [timer.when() for timer in timers if not timer.cancelled()]
        if not self._ready and due:  # type: ignore[attr-defined]
            self._now = max(self._now, min(due))
        super()._run_once()  # type: ignore[misc]


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run on a clock that begins at 0 and jumps."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def loop_time() -> float:
    """The running loop's clock, for a simulator."""
    return asyncio.get_running_loop().time()


class _NoSocket:
    """An endpoint that hands bodies to a simulator in this process."""

    secrets: tuple[str, ...] = ()

    def __init__(self, simulator: Simulator, refuse: Refuse, *, anthropic: bool) -> None:
        self._simulator = simulator
        self._refuse = refuse
        self._anthropic = anthropic

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Exchange | Failed:
        before = loop_time()
        wait = self._refuse(before)
        if wait:
            return Failed(kind=FailureKind.RATE_LIMIT, message="too many", retry_after=wait)
        reply = await self._simulator.reply(msgspec.json.decode(body), anthropic=self._anthropic)
        return Exchange(msgspec.json.encode(reply), loop_time() - before)

    async def close(self) -> None:
        """Nothing is open."""


def simulated_model(
    target: str, simulator: Simulator, refuse: Refuse = lambda _: 0.0, **settings: Any
) -> WireModel[Any]:
    """The model of a target, asked at the simulator.

    `refuse` says for a moment how long a rate limit then asks to wait; 0: it is answered.
    """
    model = open_model(target, base_url="http://127.0.0.1:9/v1", **settings)
    assert isinstance(model, WireModel)
    anthropic = target.startswith("anthropic/")
    model._endpoint = _NoSocket(simulator, refuse, anthropic=anthropic)  # type: ignore[assignment]
    return model
