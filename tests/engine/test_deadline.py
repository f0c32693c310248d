"""A deadline: what is still begun, what is waited for, and what is dropped."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from contextecho.contexts import Request
from contextecho.engine import Collection, Limits, collect, parse_deadline
from contextecho.errors import UsageError
from contextecho.models import Answer, Failed, FailureKind, Reply
from contextecho.store import Store
from engine.models import ScriptedModel
from servers.virtual import run_virtually
from store.plans import make_plan


def until(store: Store, deadline: float, model: ScriptedModel) -> tuple[Collection, float]:
    """A collection of 40 requests on 4 prefixes, and the moment of its end."""

    async def work() -> tuple[Collection, float]:
        plan = make_plan(positions=2, probes=10)
        run = store.begin_run(plan, "s", {})
        limits = msgspec.structs.replace(Limits(), deadline=deadline)
        done = await collect(plan, store, run, {model.id: model}, limits=limits)
        return done, asyncio.get_running_loop().time()

    return run_virtually(work())


def test_no_call_is_begun_that_would_not_be_back(store: Store) -> None:
    model = ScriptedModel("openai/one", seconds=10.0, max_concurrency=1)
    done, ended = until(store, 35.0, model)
    assert (done.done, done.missing, done.reason) == (3, 37, "deadline")
    assert ended == 30.0  # a fourth would come at 40
    assert done.spend.total.lost == 0


def test_what_is_out_at_the_deadline_is_dropped_and_the_rest_was_kept(store: Store) -> None:
    class Slowing(ScriptedModel):
        async def answer(self, request: Request) -> Reply:
            self._seconds = 10.0 if len(self.asked) < 3 else 1000.0
            return await super().answer(request)

    done, ended = until(store, 100.0, Slowing("openai/one", max_concurrency=1))
    assert (done.done, done.missing, done.reason) == (3, 37, "deadline")
    assert ended == 100.0
    assert done.spend.total.lost == 1  # begun at 30, when 10 seconds were the longest known


def test_a_wait_beyond_the_deadline_is_not_begun(store: Store) -> None:
    wait = Failed(kind=FailureKind.RATE_LIMIT, message="wait", status=429, retry_after=600.0)
    done, ended = until(store, 500.0, ScriptedModel("openai/one", wait, seconds=1.0))
    assert (done.done, done.reason) == (0, "deadline")
    assert ended < 10.0


def test_a_deadline_that_is_not_met_changes_nothing(store: Store) -> None:
    model = ScriptedModel("openai/one", Answer(text="Fine."), seconds=1.0)
    done, ended = until(store, 3600.0, model)
    assert done.complete
    assert done.reason is None
    assert ended < 100.0


def test_what_the_store_holds_is_not_missing_after_the_deadline(store: Store) -> None:
    until(store, 3600.0, ScriptedModel("openai/one"))
    again = ScriptedModel("openai/one")
    done, _ = until(store, -1.0, again)
    assert (done.reused, done.missing, done.reason, again.asked) == (40, 0, None, [])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("30m", 1800), ("90s", 90), ("1h30m", 5400), ("1.5H", 5400), (" 2d ", 172_800)],
)
def test_a_time_from_now(text: str, seconds: float) -> None:
    assert parse_deadline(text) == seconds


@pytest.mark.parametrize("zone", [None, UTC])
def test_a_moment_is_local_unless_it_says_its_zone(zone: object) -> None:
    now = datetime.now(UTC)
    said = (now + timedelta(hours=1)).astimezone(zone)  # type: ignore[arg-type]
    text = said.replace(tzinfo=None).isoformat() if zone is None else said.isoformat()
    left = parse_deadline(text)
    assert 0 < left <= 3600 <= left + (datetime.now(UTC) - now).total_seconds() + 0.01


@pytest.mark.parametrize(
    "text", ["soon", "", "2", "h", "-2h", "2h ago", "25:00", "0001-01-01T00:00"]
)
def test_what_is_no_deadline(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a deadline|leaves no time"):
        parse_deadline(text)


@pytest.mark.parametrize("text", ["0s", "2020-01-01T06:00", "2020-01-01T06:00+01:00"])
def test_a_deadline_that_is_over(text: str) -> None:
    with pytest.raises(UsageError, match="leaves no time"):
        parse_deadline(text)
