"""Batches and money: a hard budget at half the price, and a provider's bad week."""

from __future__ import annotations

import random
from typing import Any

import pytest

from contextecho.engine import Budget, Purse, Reason
from contextecho.errors import BudgetError
from contextecho.store import check_store, open_store
from contextecho.studies import Plan
from engine.batching import TARGETS, gather, kept, live
from servers.batching import BatchingProvider, Fate
from servers.fake import Fault, by_request
from store.plans import make_plan


@pytest.fixture(params=TARGETS, ids=lambda target: target.partition("/")[0])
def plan(request: pytest.FixtureRequest) -> Plan:
    """12 cells on 4 prefixes."""
    return make_plan(targets=(request.param,))


async def test_a_budget_is_hard_at_half_the_price(store):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(text=by_request) as provider:
        purse = Purse(Budget.parse("0.03usd"))
        got = await gather(store, plan, provider, purse=purse)
        # 600 tokens out are 0.0024 dollars in a batch, and a prefix is not free.
        assert 0 < got.done <= 12
        assert purse.spent <= 0.03
        assert purse.spent == pytest.approx(got.dollars)
        with pytest.raises(BudgetError, match="too little for the first call"):
            await gather(
                store,
                make_plan(study="b", targets=("openai/gpt-4.1",), probes=5),
                provider,
                purse=Purse(Budget.parse("0.0001usd")),
            )


async def test_what_does_not_fit_the_budget_is_not_sent(store):
    plan = make_plan(targets=("openai/gpt-4.1",))
    async with BatchingProvider(looks=10_000, text=by_request) as provider:
        purse = Purse(Budget.parse("3000tok"))  # one call: at most some 830
        got = await gather(store, plan, provider, purse=purse, wait=False)
        (batch,) = provider.batches.values()
    assert len(batch.items) == 3
    assert (got.reason, got.batches) == (Reason.BUDGET, 1)
    assert purse.calls_out == len(batch.items)


@pytest.mark.parametrize("seed", range(8))
async def test_a_dollar_budget_is_never_exceeded(tmp_path, limits, seed):
    """Answers of any length that is allowed, some requests unanswered, several commands."""
    luck = random.Random(seed)
    plan = make_plan(targets=("openai/gpt-4.1",), positions=3, probes=6)
    length = 4 * 50  # characters of the longest answer: the server counts four a token

    def answer(_: dict[str, Any]) -> str:
        return "x" * luck.choice((1, length // 2, length))

    fates = (luck.choice((None, None, *Fate)) for _ in range(10_000))
    async with BatchingProvider(text=answer, fates=fates) as provider:
        for _ in range(4):
            before = provider.billed_input, provider.billed_output
            budget = luck.uniform(0.002, 0.03)
            with open_store(tmp_path) as store:
                purse = Purse(Budget.parse(f"{budget}usd"))
                await gather(store, plan, provider, purse=purse, limits=limits)
            tokens_in = provider.billed_input - before[0]
            tokens_out = provider.billed_output - before[1]
            assert (tokens_in * 2.0 + tokens_out * 8.0) / 2e6 <= budget


@pytest.mark.parametrize("seed", range(4))
async def test_a_bad_week_ends_in_the_same_store(tmp_path, plan, limits, seed):
    """Every fault by chance, the same command until all is there: as live, and nothing twice."""
    luck = random.Random(seed)
    harmless = [fate for fate in Fate if fate not in (Fate.INVALID, Fate.STRANGER)]
    fates = (luck.choice((None, None, None, *harmless)) for _ in range(10_000))
    faults = [
        luck.choice(
            (None, Fault.RATE_LIMIT, Fault.CUT, Fault.RESET, Fault.SERVER_ERROR, Fault.OVERLOADED)
        )
        for _ in range(12)
    ]
    async with BatchingProvider(
        text=by_request, looks=2, fates=fates, submit_faults=faults
    ) as provider:
        provider.cuts = [luck.randrange(12) for _ in range(6)]
        for _ in range(20):
            with open_store(tmp_path / "batched") as store:
                got = await gather(store, plan, provider, limits=limits, wait=luck.random() < 0.7)
            if got.complete:
                break
        assert got.complete
        with open_store(tmp_path / "live") as other, open_store(tmp_path / "batched") as store:
            await live(other, plan, provider, limits)
            ours, theirs = kept(store, plan), kept(other, plan)
            texts = {key: reply[1] for key, reply in ours.items()}
            assert texts.keys() == theirs.keys()
            told_twice = {key for key in texts if texts[key] != theirs[key][1]}
            assert all(texts[key] == "Another answer." for key in told_twice)  # the first of two
            run = store.begin_run(plan, "s", {})
            assert store.batches.out(run.id) == 0
            assert max(provider.answered_items.values()) == 1
            assert check_store(store).problems == ()
