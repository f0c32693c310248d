"""Collecting in batches, over each provider's wire: what comes back, what does not, and why."""

from __future__ import annotations

import time

import msgspec
import pytest

from contextecho.engine import Reason
from contextecho.errors import UsageError
from contextecho.models import Failed, FailureKind
from contextecho.store import open_store
from contextecho.studies import Plan
from engine.batching import TARGETS, Heard, gather, kept, live
from servers.batching import BatchingProvider, Fate
from servers.fake import Fault, by_request
from store.plans import make_plan


@pytest.fixture(params=TARGETS, ids=lambda target: target.partition("/")[0])
def plan(request: pytest.FixtureRequest) -> Plan:
    """12 cells on 4 prefixes."""
    return make_plan(targets=(request.param,))


async def test_a_batch_brings_what_live_calls_do(store, plan, limits, tmp_path):
    async with BatchingProvider(text=by_request, looks=3) as provider:
        got = await gather(store, plan, provider)
        with open_store(tmp_path / "live") as other:
            await live(other, plan, provider, limits)
            assert kept(store, plan) == kept(other, plan)
            assert len(kept(store, plan)) == 12
    assert (got.done, got.complete, got.reason, got.batches) == (12, True, None, 0)
    assert provider.broken_rules == []
    assert len(provider.batches) == 1
    assert set(provider.taken.values()) == {1}


async def test_replies_are_shared_with_live_calls_both_ways(store, plan, limits):
    async with BatchingProvider(text=by_request) as provider:
        await live(store, plan, provider, limits)
        assert (await gather(store, plan, provider)).reused == 12
        assert provider.batches == {}
    async with BatchingProvider(text=by_request) as provider:
        assert (await live(store, plan, provider, limits)).reused == 12
        assert provider.calls == 0


async def test_half_the_price_is_charged(store, limits, tmp_path):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(text=by_request) as provider:
        got = await gather(store, plan, provider)
        ledger = got.spend.by_target["openai/gpt-4.1"]
    # The list price of GPT-4.1: 2 dollars a million tokens in, 8 out.
    full = (ledger.input * 2.0 + ledger.output * 8.0) / 1e6
    assert got.dollars == pytest.approx(full / 2)
    assert got.spend.batched == got.spend.by_target


@pytest.mark.parametrize(
    "fate", [Fate.EXPIRED, Fate.CANCELLED, Fate.TIMED_OUT, Fate.OVERLOADED, Fate.MISSING]
)
async def test_what_comes_back_unanswered_is_sent_once_more(store, plan, fate):
    heard = Heard()
    async with BatchingProvider(fates=[fate, None, fate], text=by_request) as provider:
        got = await gather(store, plan, provider, progress=heard)
    assert (got.done, got.failed, got.complete) == (12, 0, True)
    assert [len(batch.items) for batch in provider.batches.values()] == [12, 2]
    assert got.spend.total.attempts == 14
    lost = 2 if fate is Fate.MISSING else 0
    assert (got.spend.total.lost, got.spend.total.failed) == (lost, 2 - lost)
    assert any("2 of 12 requests came not back" in text for text in heard.said) == bool(lost)


async def test_what_is_unanswered_twice_is_given_up_until_the_next_command(store, plan):
    async with BatchingProvider(fates=[Fate.EXPIRED] * 13) as provider:
        got = await gather(store, plan, provider)
        assert (got.done, got.failed, got.missing) == (11, 1, 0)
        run = store.begin_run(plan, "s", {})
        (cell,) = store.missing(run.id)
        (stored,) = [r for r in store.replies(run.id) if r.key == cell[1]]
        assert isinstance(stored.reply, Failed)
        assert stored.reply.kind is FailureKind.SERVER
        assert "expired" in stored.reply.message
        again = await gather(store, plan, provider)
    assert (again.done, again.reused, again.complete) == (1, 11, True)


async def test_an_invalid_request_is_not_sent_again(store, plan):
    async with BatchingProvider(fates=[Fate.INVALID], text=by_request) as provider:
        got = await gather(store, plan, provider)
    assert (got.done, got.failed, len(provider.batches)) == (11, 1, 1)
    run = store.begin_run(plan, "s", {})
    (failed,) = [r.reply for r in store.replies(run.id) if isinstance(r.reply, Failed)]
    assert (failed.kind, failed.status) == (FailureKind.BAD_REQUEST, 400)


@pytest.mark.parametrize("fate", [Fate.TWICE, Fate.STRANGER, Fate.GARBAGE])
async def test_odd_lines_change_nothing_and_are_told(store, plan, fate):
    heard = Heard()
    async with BatchingProvider(fates=[fate], text=by_request) as provider:
        got = await gather(store, plan, provider, progress=heard)
    assert (got.done, got.complete, got.spend.total.attempts) == (12, True, 12)
    said = " ".join(heard.said)
    assert ("1 results are of requests that it does not have, the first 'nobody-s'" in said) == (
        fate is Fate.STRANGER
    )
    assert ("cannot be read" in said) == (fate is Fate.GARBAGE)


async def test_a_cut_while_reading_loses_and_doubles_nothing(store, plan, limits):
    async with BatchingProvider(text=by_request) as provider:
        provider.cuts = [5, 9]
        got = await gather(store, plan, provider, limits=limits)
    assert (got.done, got.spend.total.attempts, got.spend.total.lost) == (12, 12, 0)
    assert got.spend.total.input == provider.billed_input


async def test_results_that_cannot_be_read_stay_for_the_next_command(store, plan, limits):
    async with BatchingProvider(text=by_request) as provider:
        provider.cuts = [4] * limits.attempts
        got = await gather(store, plan, provider, limits=limits)
        assert (got.reason, got.batches, got.done) == (Reason.STOPPED, 1, 4)
        assert "cannot be read" in got.stopped_targets[plan.targets[0]]
        again = await gather(store, plan, provider, limits=limits)
    assert (again.done, again.reused, again.complete) == (8, 4, True)
    assert len(provider.submissions) == 1


async def test_a_provider_that_is_away_for_a_while_is_waited_for(store, limits):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(text=by_request, looks=3) as provider:
        provider.away = limits.trials - 1
        assert (await gather(store, plan, provider, limits=limits)).complete
    async with BatchingProvider(text=by_request) as provider:
        longer = make_plan(targets=("openai/gpt-4.1",), study="b", probes=4)
        provider.away = limits.trials
        got = await gather(store, longer, provider, limits=limits)
        assert (got.reason, got.batches) == (Reason.STOPPED, 1)
        assert "cannot be looked at" in got.stopped_targets["openai/gpt-4.1"]
        assert (await gather(store, longer, provider, limits=limits)).complete
    assert len(provider.submissions) == 1


async def test_it_is_the_same_in_both_databases(place):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(fates=[Fate.EXPIRED], text=by_request, looks=2) as provider:
        with open_store(place) as store:
            left = await gather(store, plan, provider, wait=False)
        with open_store(place) as store:
            got = await gather(store, plan, provider)
            assert len(kept(store, plan)) == 12
    assert (left.batches, got.done, got.complete) == (1, 12, True)
    assert (got.spend.total.attempts, got.spend.total.failed) == (13, 1)


async def test_a_rate_limit_on_handing_in_is_waited_out(store, plan, limits):
    faults = [Fault.RATE_LIMIT, Fault.OVERLOADED]
    async with BatchingProvider(submit_faults=faults, text=by_request) as provider:
        got = await gather(store, plan, provider, limits=limits)
    assert (got.complete, len(provider.batches), got.spend.total.attempts) == (True, 1, 12)


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.SERVER_ERROR, Fault.RESET])
async def test_an_unclear_answer_is_cleared_up_before_anything_is_sent_again(
    store, plan, limits, fault
):
    async with BatchingProvider(submit_faults=[fault], text=by_request) as provider:
        got = await gather(store, plan, provider, limits=limits)
    assert got.complete
    assert len(provider.batches) == 1
    assert set(provider.taken.values()) == {1}


async def test_a_batch_that_nobody_can_tell_yet_is_waited_for(store, limits):
    """Anthropic's list does not say whose a batch is until it has ended."""
    plan = make_plan(targets=("anthropic/claude-sonnet-4-5",))
    async with BatchingProvider(submit_faults=[Fault.CUT], looks=6, text=by_request) as provider:
        got = await gather(store, plan, provider, limits=limits)
    assert (got.complete, len(provider.batches), len(provider.submissions)) == (True, 1, 1)


async def test_a_batch_of_somebody_else_is_not_taken_for_ours(store, limits, tmp_path):
    """As many requests, at the same time, under the same key."""
    theirs = make_plan(
        study="other", targets=("anthropic/claude-sonnet-4-5",), probes=6, positions=1
    )
    ours = make_plan(targets=("anthropic/claude-sonnet-4-5",))
    async with BatchingProvider(text=by_request) as provider:
        with open_store(tmp_path / "theirs") as other:
            await gather(other, theirs, provider)
        provider._submit_faults = iter([Fault.RESET])
        got = await gather(store, ours, provider, limits=limits)
    assert got.complete
    assert [len(batch.items) for batch in provider.batches.values()] == [12, 12]


@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.BAD_REQUEST, Fault.NOT_FOUND])
async def test_a_provider_that_takes_no_batch_stops_the_target(
    store, plan, limits, fault, monkeypatch
):
    for name in ("OPENAI", "ANTHROPIC", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-test-0123456789abcdef")
    async with BatchingProvider(submit_faults=[fault]) as provider:
        got = await gather(store, plan, provider, limits=limits)
    assert (got.reason, got.failed, got.batches) == (None, 12, 0)
    assert "takes no batch" in got.stopped_targets[plan.targets[0]]
    assert "0123456789abcdef" not in got.stopped_targets[plan.targets[0]]
    run = store.begin_run(plan, "s", {})
    assert len(list(store.missing(run.id))) == 12  # a refused batch says nothing of a request
    assert store.batches.out(run.id) == 0


async def test_a_full_queue_makes_batches_smaller(store, limits):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(queue=4, text=by_request) as provider:
        got = await gather(store, plan, provider, limits=limits)
    assert got.complete
    taken = [len(b.items) for b in provider.batches.values() if b.ends_as != "failed"]
    assert taken == [3, 3, 3, 3]
    assert set(provider.answered_items.values()) == {1}


async def test_batches_keep_to_the_terms_and_prefixes_together(store, plan):
    async with BatchingProvider(text=by_request) as provider:
        got = await gather(
            store, plan, provider, terms=lambda terms: msgspec.structs.replace(terms, requests=7)
        )
    assert got.complete
    batches = [batch.items for batch in provider.batches.values()]
    assert [len(items) for items in batches] == [6, 6]  # groups of 3
    prefixes = [
        {str((i.get("params") or i["body"])["messages"][:-1]) for i in items} for items in batches
    ]
    assert [len(found) for found in prefixes] == [2, 2]


async def test_without_waiting_a_batch_is_left_and_taken_up_again(store, plan):
    async with BatchingProvider(looks=2, text=by_request) as provider:
        first = await gather(store, plan, provider, wait=False)
        assert (first.reason, first.batches, first.missing) == (Reason.BATCHES, 1, 12)
        second = await gather(store, plan, provider, wait=False)
        assert (second.reason, second.batches) == (Reason.BATCHES, 1)
        third = await gather(store, plan, provider, wait=False)
    assert (third.done, third.complete, third.batches) == (12, True, 0)
    assert len(provider.batches) == 1


async def test_live_calls_are_refused_while_a_batch_is_out(store, plan, limits):
    async with BatchingProvider(looks=9) as provider:
        await gather(store, plan, provider, wait=False)
        with pytest.raises(UsageError, match="has 1 batch with its provider") as refused:
            await live(store, plan, provider, limits)
    assert "--batch" in refused.value.todo
    assert provider.calls == 0


async def test_a_deadline_leaves_batches_where_they_are(store, plan, limits):
    short = msgspec.structs.replace(limits, deadline=time.monotonic() + 0.2)
    async with BatchingProvider(looks=10_000, text=by_request) as provider:
        got = await gather(store, plan, provider, limits=short)
        assert (got.reason, got.batches, got.missing) == (Reason.DEADLINE, 1, 12)
        for batch in provider.batches.values():
            batch.looks = 0
        assert (await gather(store, plan, provider)).complete
    assert len(provider.batches) == 1
