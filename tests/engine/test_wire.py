"""The engine against a server that speaks the wire format and misbehaves."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from commandline import run_copy, start_copy
from contextecho.engine import Budget, Collection, Limits, Purse, Reason, collect
from contextecho.models import open_model
from contextecho.store import Store, open_store
from contextecho.studies import Plan
from servers.fake import NOWHERE, FakeProvider, Fault
from servers.serving import serving
from store.plans import make_plan
from waiting import wait_until

PLAN = make_plan(positions=2, probes=10)  # 40 cells on 4 prefixes


async def gather(
    store: Store, url: str, limits: Limits, plan: Plan = PLAN, **options
) -> Collection:
    run = store.begin_run(plan, "s", {})
    async with open_model("openai/one", base_url=url) as model:
        return await collect(plan, store, run, {model.id: model}, limits=limits, **options)


async def test_the_ledger_equals_what_the_server_billed(store, limits):
    faults = [None, Fault.EMPTY, Fault.RATE_LIMIT, None, Fault.SERVER_ERROR, Fault.LENGTH]
    async with FakeProvider(faults=faults) as provider:
        collection = await gather(store, provider.url, limits)
        assert collection.complete
        total = collection.spend.total
        assert (total.input, total.output) == (provider.billed_input, provider.billed_output)
        assert total.attempts == provider.calls
        assert total.failed == 3
        assert total.cached > 0.6 * total.input  # the server saw each prefix warm
        assert provider.broken_rules == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault.RATE_LIMIT,
        Fault.OVERLOADED,
        Fault.SERVER_ERROR,
        Fault.CUT,
        Fault.HTML,
        Fault.WRONG_JSON,
        Fault.EMPTY,
        Fault.REASONING_ONLY,
    ],
)
async def test_passing_trouble_is_retried_until_every_cell_has_its_answer(store, limits, fault):
    async with FakeProvider(faults=[None, None, *[fault] * 6]) as provider:
        collection = await gather(store, provider.url, limits)
    assert collection.complete
    assert collection.spend.total.failed == 6


async def test_a_storm_of_rate_limits_is_ridden_out(store):
    limits = Limits(first_delay=0.02, longest_delay=0.2, attempts=30)
    async with FakeProvider(limit=3, latency=0.005) as provider:
        collection = await gather(store, provider.url, limits, make_plan(positions=4, probes=25))
    assert collection.done == 200
    assert collection.failed == 0


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault.UNAUTHORIZED, "401"),
        (Fault.NOT_FOUND, "404"),
        (Fault.HTML, "HTML"),
        (Fault.SERVER_ERROR, "500"),
        (Fault.BAD_REQUEST, "400"),
    ],
)
async def test_lasting_trouble_stops_the_target_with_one_message(store, limits, fault, says):
    said: list[str] = []

    class Listening:
        every = 60.0

        def show(self, tally): ...

        def say(self, text):
            said.append(text)

        def close(self, tally): ...

    async with FakeProvider(always=fault) as provider:
        collection = await gather(store, provider.url, limits, progress=Listening())
    assert collection.reason is Reason.STOPPED
    assert collection.done == 0
    assert len(said) == 1
    assert said[0].startswith("openai/one stopped: ")
    assert says in said[0]
    async with FakeProvider() as mended:
        assert (await gather(store, mended.url, limits)).complete


async def test_a_server_that_is_down_stops_the_target(store, limits):
    collection = await gather(store, NOWHERE, limits)
    assert collection.reason is Reason.STOPPED
    assert list(collection.stopped_targets) == ["openai/one"]


async def test_a_budget_holds_against_what_the_server_bills(store, limits):
    async with FakeProvider() as provider:
        collection = await gather(store, provider.url, limits, purse=Purse(Budget.parse("5ktok")))
        assert collection.reason is Reason.BUDGET
        assert provider.billed_input + provider.billed_output <= 5000
        assert collection.done > 0


def test_kill_9_loses_nothing_that_was_stored_and_repeats_only_calls_in_flight(tmp_path: Path):
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    with serving() as provider:
        words = ("engine.collecting:live", provider.url, tmp_path)
        provider.most_answers = 200
        first = start_copy(*words, files=(0, 1, 2), env=environment)
        wait_until(lambda: provider.answered == 200, first)
        first.kill()
        first.wait()
        wait_until(lambda: provider.in_flight == 0)
        asked_before = bodies(provider)
        with open_store(tmp_path) as store:
            run = store.find_run()
            in_flight = store.spend(run.id).total.lost
            stored = {s.key: s.reply for s in store.replies(run.id) if s.reply}
        assert 200 - 64 <= len(stored) <= 200
        provider.most_answers = 800
        second = run_copy(*words, env=environment)
        answered, reused = map(int, second.stdout.split())
        assert (answered, reused) == (400 - len(stored), len(stored))
        asked = bodies(provider)
        repeated = [body for body, times in asked.items() if times > 1]
        assert set(repeated) <= set(asked_before)
        assert all(times <= 2 for times in asked.values())
        assert len(repeated) <= in_flight <= 64
        assert len(asked) == 400
        with open_store(tmp_path) as store:
            after = {s.key: s.reply for s in store.replies(run.id)}
            assert len(after) == 400
            assert all(after[key] == reply for key, reply in stored.items())


def bodies(provider: FakeProvider) -> Counter[str]:
    return Counter(json.dumps(body) for body in provider.bodies)
