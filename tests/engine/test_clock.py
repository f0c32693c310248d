"""The wall clock is set while a collection runs: it waits, decides and keeps as if nothing was."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from contextecho.contexts import Request
from contextecho.engine import Collection, Limits, collect
from contextecho.models import Allowance, Answer, Caching, Failed, FailureKind, Reply
from contextecho.store import moment, open_store
from engine.models import ScriptedModel
from servers.virtual import run_virtually
from store.plans import make_plan
from store.raw import query

HOUR, DAY = 3600.0, 86_400.0


class WallClock:
    """The wall clock of this process, which can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0  # seconds
        read, clock = time.time, self

        class Set(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + timedelta(seconds=clock.ahead)

        monkeypatch.setattr(time, "time", lambda: read() + self.ahead)
        monkeypatch.setattr(moment, "datetime", Set)


class Watched(ScriptedModel):
    """Forgets a prefix after a minute, limits now and then, and notes when it is asked what."""

    caching = Caching(life=60.0)

    def __init__(self, before: Callable[[], None]) -> None:
        super().__init__("openai/one", self._reply, seconds=7.0)
        self.sent: list[tuple[float, str]] = []
        self._before = before

    async def answer(self, request: Request) -> Reply:
        self._before()
        self.sent.append((asyncio.get_running_loop().time(), request.key))
        return await super().answer(request)

    def _reply(self, request: Request, nth: int) -> Reply:
        if nth == 1 and len(self.sent) % 9 == 0:
            asked = 90.0 if len(self.sent) % 2 else None
            return Failed(kind=FailureKind.RATE_LIMIT, message="wait", retry_after=asked)
        left = Allowance(requests_limit=30.0, requests_left=float(len(self.sent) % 5))
        return Answer(text="Fine.", allowance=left)


class Did(NamedTuple):
    """What a collection did, without the times that it wrote down."""

    sent: list[tuple[float, str]]  # on the loop's clock
    ended: float
    done: Collection


def run(folder: Path, before: Callable[[], None]) -> Did:
    random.seed(5)  # of the jitter
    model = Watched(before)
    plan = make_plan(positions=3, probes=20)

    async def work() -> tuple[Collection, float]:
        limits = Limits(deadline=400.0)
        done = await collect(plan, store, begun, {model.id: model}, limits=limits)
        return done, asyncio.get_running_loop().time()

    with open_store(folder) as store:
        begun = store.begin_run(plan, "s", {})
        done, ended = run_virtually(work())
    return Did(model.sent, ended, done)


@pytest.mark.parametrize("jump", [DAY, -DAY, HOUR, -HOUR])
def test_a_jump_of_the_wall_clock_moves_no_wait_and_no_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    calm = run(tmp_path / "calm", lambda: None)
    wall = WallClock(monkeypatch)
    jumps = cycle((jump, 0.0, 0.0))

    def set_clock() -> None:
        wall.ahead = next(jumps)

    jumped = run(tmp_path / "jumped", set_clock)
    assert jumped == calm
    assert calm.done.reason == "deadline"  # so that it was reached, by a day's jump or none
    assert 0 < calm.done.done < calm.done.total

    rows = query(
        str(tmp_path / "jumped" / "store.sqlite"), "SELECT key, begun_at FROM attempt ORDER BY id"
    )
    assert [key for key, _ in rows] == [key for _, key in jumped.sent]
    moments = [begun for _, begun in rows]
    assert moments != sorted(moments)  # the jumps are in the records, and order nothing
