"""Several workers and their hub in one process, on a clock that jumps; they may be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from contextecho.engine import Budget, Limits
from contextecho.engine.progress import Tally
from contextecho.engine.quota import Sent
from contextecho.engine.spread.collecting import groups_of
from contextecho.engine.spread.hub import Hub
from contextecho.engine.spread.words import Ask, Group, Joining, Lease, Outcome, Terms
from contextecho.engine.spread.worker import work_off
from contextecho.models import Model
from contextecho.store import Store
from contextecho.studies import Plan


class NearHub:
    """The hub, a moment away. What was sent arrives, in order, even if its sender dies."""

    def __init__(self, hub: Hub, seconds: float) -> None:
        self.hub = hub
        self._seconds = seconds
        self.exchanges = 0
        self._last = 0.0  # when the last word arrives

    async def join(self, joining: Joining) -> float | None:
        return await self._arrive(self.hub.join, joining)

    async def exchange(self, ask: Ask) -> Lease:
        self.exchanges += 1
        return await self._arrive(self.hub.exchange, ask)

    async def leave(self, ask: Ask, unused: list[Sent]) -> None:
        await self._arrive(self.hub.leave, ask, unused)

    async def _arrive(self, hears: Callable[..., Any], *words: Any) -> Any:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._last = max(self._last + 1e-6, loop.time() + self._seconds)
        loop.call_at(self._last, lambda: answer.set_result(hears(*words)))
        return await asyncio.shield(answer)


class Spread:
    """A run that several workers share."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        models: Mapping[str, Model],
        *,
        budget: Budget | None = None,
        limits: Limits | None = None,
        seconds: float = 0.001,
    ) -> None:
        """`seconds` is how far away the hub is."""
        self.store, self.models = store, models
        self.run = store.begin_run(plan, "s", {})
        limits = limits or Limits()
        clock = asyncio.get_running_loop().time
        room = None if budget is None else budget.limit
        self.hub = Hub(limits, clock, room=room, seconds=limits.deadline)  # the clock begins at 0
        self.near = NearHub(self.hub, seconds)
        self.terms = Terms(
            store="",
            run=self.run.id,
            token="",
            base_url=None,
            key_env=None,
            timeout=60.0,
            limits=limits,
            unit=None if budget is None else budget.unit,
        )
        missing = store.missing_keys(self.run.id)
        self.groups = [g for target in plan.targets for g in groups_of(plan, target, missing)]
        self.tally = Tally(total=store.count_requests(self.run.id))
        self.outcomes: list[Outcome] = []

    async def work(self, workers: int, dies: Callable[[], float | None] = lambda: None) -> None:
        """Work all groups off, those of the dead again. `dies`: after how long a worker does."""
        waiting = list(self.groups)
        names = iter(range(1_000_000))

        async def one() -> None:
            while waiting:
                group, name = waiting.pop(0), f"w{next(names)}"
                asking = asyncio.create_task(self.ask(group, name))
                await asyncio.wait([asking], timeout=dies())
                if asking.done():
                    self.outcomes.append(asking.result())
                    self.tally.include(self.outcomes[-1].tally)
                    continue
                asking.cancel()
                await asyncio.wait([asking])
                self.hub.lost(name)
                waiting.append(group)

        await _all([one() for _ in range(workers)])

    async def ask(self, group: Group, name: str) -> Outcome:
        model = self.models[group.target]
        return await work_off(
            self.terms, group, self.store, model, self.near, name, is_up=bool(self.tally.done)
        )


async def _all(works: Iterable[object]) -> None:
    async with asyncio.TaskGroup() as together:
        for work in works:
            together.create_task(work)  # type: ignore[arg-type]
