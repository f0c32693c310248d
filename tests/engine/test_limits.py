"""Lanes under limits: a provider that counts, one that goes away, targets of one account."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
import pytest

from contextecho.contexts import Request
from contextecho.engine import Collection, Limits, collect
from contextecho.models import Allowance, Answer, Failed, FailureKind, Model, Reply, Usage
from contextecho.store import Store
from engine.models import ScriptedModel
from servers.virtual import run_virtually
from store.plans import make_plan

GONE = Failed(kind=FailureKind.SERVER, message="gone", status=500)


def gather(store: Store, models: Iterable[Model], limits: Limits, **size: int) -> Collection:
    models = {model.id: model for model in models}
    plan = make_plan(targets=tuple(models), **size)
    run = store.begin_run(plan, "s", {})
    return run_virtually(collect(plan, store, run, models, limits=limits))


class CountingModel(ScriptedModel):
    """A provider with a bucket of its own, of tokens or of requests; says what it holds."""

    def __init__(self, target: str, limit: float, *, tokens: int | None, headers: bool) -> None:
        super().__init__(target, seconds=2.0)
        self.refused = 0
        self._limit, self._level, self._at = limit, limit, 0.0
        self._tokens = tokens
        self._headers = headers

    async def answer(self, request: Request) -> Reply:
        now = asyncio.get_running_loop().time()
        self._level = min(self._limit, self._level + (now - self._at) * self._limit / 60)
        self._at = now
        amount = 1 if self._tokens is None else self._tokens
        if amount > self._level:
            self.refused += 1
            return Failed(kind=FailureKind.RATE_LIMIT, message="wait", status=429)
        self._level -= amount
        kind = "requests" if self._tokens is None else "tokens"
        left = {f"{kind}_limit": self._limit, f"{kind}_left": float(int(self._level))}
        await super().answer(request)
        usage = None if self._tokens is None else Usage(input=self._tokens - 10, output=10)
        return Answer(
            text="Fine.", usage=usage, allowance=Allowance(**left) if self._headers else None
        )


@pytest.mark.parametrize("tokens", [None, 400])
def test_limits_that_are_told_are_kept_and_nearly_used_up(store, tokens):
    limit = 60.0 if tokens is None else 60.0 * tokens
    model = CountingModel("openai/one", limit, tokens=tokens, headers=True)
    done = gather(store, [model], Limits(), positions=2, probes=75)
    assert done.done == 300
    # Calls that were out before the first reply told the limit may meet it, and of the others
    # those few that an average takes for shorter than they are.
    assert model.refused <= Limits().concurrency + 300 * 0.03
    # 60 at once and one a second: 300 take four minutes, a fifth more is allowed.
    assert 240 <= model._at <= 288


def test_without_the_telling_the_same_limit_is_met_again_and_again(store):
    model = CountingModel("openai/one", 60.0, tokens=None, headers=False)
    assert gather(store, [model], Limits(attempts=20), positions=2, probes=75).done == 300
    assert model.refused > 20


def test_a_target_that_comes_back_loses_nothing(store):
    """Ten minutes without an answer, in the midst of 400 requests."""
    calls = 0

    class Interrupted(ScriptedModel):
        async def answer(self, request: Request) -> Reply:
            nonlocal calls
            now = asyncio.get_running_loop().time()
            reply = await super().answer(request)
            if 10.0 < now < 310.0:
                calls += 1
                return GONE
            return reply

    done = gather(store, [Interrupted("openai/one", seconds=1.0)], Limits(), positions=4, probes=50)
    assert (done.done, done.failed, done.missing) == (400, 0, 0)
    assert calls < 60  # and it was left alone meanwhile


@pytest.mark.parametrize("kind", [FailureKind.SERVER, FailureKind.UNREACHABLE])
def test_a_target_that_does_not_come_back_is_given_up_and_the_other_one_goes_on(store, kind):
    def script(request: Request, nth: int) -> Reply:
        broken.answers += 1
        return Answer(text="Fine.") if broken.answers <= 20 else Failed(kind=kind, message="gone")

    broken = ScriptedModel("openai/one", script, seconds=0.1)
    broken.answers = 0
    sound = ScriptedModel("openai/two", seconds=0.1)
    done = gather(store, [broken, sound], Limits(), positions=4, probes=50)
    assert done.stopped_targets == {"openai/one": "it failed 12 trials, the last: gone"}
    assert done.done == 20 + 400
    assert done.missing == 380


def test_a_few_questions_that_always_fail_do_not_stop_the_others(store):
    def script(request: Request, nth: int) -> Reply:
        return GONE if "number 7" in request.ask[0].text else Answer(text="Fine.")

    model = ScriptedModel("openai/one", script, seconds=0.1)
    done = gather(store, [model], Limits(), positions=2, probes=10)
    assert (done.done, done.failed, done.missing) == (36, 4, 0)
    assert not done.stopped_targets


def test_targets_of_one_account_share_its_slots_fairly(store):
    models = [ScriptedModel(f"openai/{name}", seconds=1.0) for name in ("a", "b", "c")]
    most = 0

    class Counted(ScriptedModel):
        async def answer(self, request: Request) -> Reply:
            nonlocal most
            most = max(most, sum(model.in_flight for model in models) + 1)
            reply = await super().answer(request)
            self.ended_at = asyncio.get_running_loop().time()
            return reply

    models[:] = [Counted(model.id, seconds=1.0) for model in models]
    for model in models:
        model.account = "one key"
    limits = Limits(concurrency=6, most_concurrency=6)
    done = gather(store, models, limits, positions=4, probes=10)
    assert done.done == 240
    assert most == 6
    ends = [model.ended_at for model in models]
    assert max(ends) - min(ends) <= 4.0  # of 40 seconds: side by side, not one after the other


def test_a_rate_limit_of_one_target_holds_back_the_others_of_its_account(store):
    limited = Failed(kind=FailureKind.RATE_LIMIT, message="wait", status=429, retry_after=100.0)
    sent: list[float] = []

    class Timed(ScriptedModel):
        async def answer(self, request: Request) -> Reply:
            sent.append(asyncio.get_running_loop().time())
            return await super().answer(request)

    one = Timed("openai/one", lambda request, nth: limited if nth == 1 else Answer(text="F."))
    two = Timed("openai/two", seconds=1.0)
    one.account = two.account = "one key"
    limits = Limits(concurrency=2, most_concurrency=2)
    assert gather(store, [one, two], limits, positions=1, probes=3).complete
    assert not [moment for moment in sent if 1.5 < moment < 100.0]


def test_a_deadline_holds_during_a_pause(store):
    def script(request: Request, nth: int) -> Reply:
        model.answers += 1
        return Answer(text="Fine.") if model.answers <= 20 else GONE

    model = ScriptedModel("openai/one", script, seconds=0.1)
    model.answers = 0
    limits = msgspec.structs.replace(Limits(), deadline=30.0)
    done = gather(store, [model], limits, positions=4, probes=50)
    assert done.reason == "deadline"
    assert done.done == 20


def test_no_slot_is_idle_once_the_prefixes_are_warm(store):
    """8 prefixes are warmed in a round of their own; 64 at once need 7 more for the other 392."""
    plan = make_plan(positions=4, probes=50)
    model = ScriptedModel("openai/one", seconds=1.0)
    run = store.begin_run(plan, "s", {})
    limits = Limits(concurrency=64, most_concurrency=64)

    async def ended() -> float:
        await collect(plan, store, run, {model.id: model}, limits=limits)
        return asyncio.get_running_loop().time()

    assert run_virtually(ended()) == 1 + 7


def test_calls_that_come_back_together_earn_slots_together(store):
    model = ScriptedModel("openai/one", seconds=1.0)
    gather(store, [model], Limits(concurrency=4), positions=2, probes=20)
    # About a slot a round: rounds of 4, 4, 5, 6, ... up to 11 hold the 80 calls. A quarter of a
    # slot a round, as if one of four had come back, would need 77 calls to come to 7.
    assert 10 <= model.most_in_flight <= 12


def test_a_reply_and_the_call_that_takes_its_slot_are_one_transaction(store, monkeypatch):
    class Uneven(ScriptedModel):
        async def answer(self, request: Request) -> Reply:
            self._seconds += 0.01  # no two calls come back at the same moment
            return await super().answer(request)

    write, transactions = store.database.write, 0

    def counted(work):
        nonlocal transactions
        transactions += 1
        return write(work)

    model = Uneven("openai/one", seconds=1.0)
    limits = Limits(concurrency=4, most_concurrency=4)
    monkeypatch.setattr(store.database, "write", counted)
    gather(store, [model], limits, positions=2, probes=5)
    # The run, the first four calls together, and one for each of the 20 replies.
    assert transactions == 1 + 1 + 20
