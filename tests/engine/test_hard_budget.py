"""A dollar budget against providers that bill as adversely as their price list allows.

The bill is kept by the provider's side of the test, in integers (units of 1e-12 dollars) and
from prices written down here; the engine is told of it, or not, as real providers tell.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from contextecho.contexts import Request, canonical_json
from contextecho.engine import Budget, Limits, Purse, ask_requests, collect
from contextecho.engine.budget import Tariff, Unit
from contextecho.errors import BudgetError
from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated, Usage
from contextecho.store import open_store
from contextecho.studies import Cell, Plan
from engine.models import ScriptedModel
from servers.virtual import run_virtually
from store.plans import make_plan


@dataclass(frozen=True)
class Rates:
    """Dollars a million tokens, times a million: what a token costs in units."""

    input: int
    cached: int
    write: int
    output: int


RATES = {  # the list prices of 2026-03-21, copied by hand
    "anthropic/claude-sonnet-4-6": Rates(3_000_000, 300_000, 3_750_000, 15_000_000),
    "openai/gpt-5-mini": Rates(250_000, 25_000, 250_000, 2_000_000),
    "openai/gpt-4.1": Rates(2_000_000, 2_000_000, 2_000_000, 8_000_000),
    "anthropic/claude-haiku-4-5": Rates(1_000_000, 100_000, 1_250_000, 5_000_000),
}
UNITS = 10**12  # a dollar


class Adversary(ScriptedModel):
    """Bills each call at random between nothing and all that it may, and tells as it likes."""

    def __init__(self, target: str, luck: random.Random) -> None:
        super().__init__(target)
        self.billed = 0
        self._luck = luck
        self._greedy = luck.random() < 0.5  # always as much as it may
        self._density = 1.0 if self._greedy else luck.choice([0.2, 0.25, 0.5])  # tokens a byte
        self._fates = luck.choice([["answer"], FATES, ["answer", "cut"], ["cut", "empty"]])
        self._cached = luck.random()

    async def answer(self, request: Request) -> Reply:
        luck = self._luck
        await asyncio.sleep(luck.choice([0.0, 0.1, 1.0, 30.0]))
        fate = luck.choice(self._fates)
        if fate in ("rate_limit", "overloaded", "rejected"):
            kind, status = TURNED_AWAY[fate]
            return Failed(kind=kind, message=fate, status=status)
        usage = self._bill(request)
        told = usage if luck.random() < 0.9 else None
        match fate:
            case "answer":
                return Answer(text="Fine.", usage=told)
            case "refusal":
                return Refusal(usage=told)
            case "truncated":
                return Truncated(text="F", usage=told)
            case "empty":
                return Failed(kind=FailureKind.EMPTY, message="no text", usage=told)
            case "gateway":
                return Failed(kind=FailureKind.SERVER, message="504", status=504)
            case "broken":
                return Failed(kind=FailureKind.NOT_JSON, message="half an answer", status=200)
        return Failed(kind=FailureKind.SERVER, message="the connection broke")

    def _bill(self, request: Request) -> Usage:
        """Charge for a call: its prefix whole, cached or written, and up to all its output."""
        luck, rates = self._luck, RATES[self.id]
        most = request.decoding.max_output_tokens
        prefix = int(len(canonical_json(request.context)) * self._density) + 200  # the template
        question = int(len(canonical_json(request.ask)) * self._density)
        cached = prefix if luck.random() < self._cached and not self._greedy else 0
        written = 0 if cached else prefix if self._greedy else luck.choice([0, prefix])
        output = most if self._greedy else luck.choice([0, 1, most, luck.randint(0, most)])
        plain = prefix + question - cached - written
        self.billed += (
            plain * rates.input
            + cached * rates.cached
            + written * rates.write
            + output * rates.output
        )
        return Usage(input=prefix + question, cached=cached, cache_write=written, output=output)


TURNED_AWAY = {
    "rate_limit": (FailureKind.RATE_LIMIT, 429),
    "overloaded": (FailureKind.RATE_LIMIT, 529),
    "rejected": (FailureKind.SERVER, 500),
}
FATES = [
    "answer",
    "answer",
    "refusal",
    "truncated",
    "empty",
    "gateway",
    "broken",
    "cut",
    *TURNED_AWAY,
]


def spend_at_random(luck: random.Random, folder: Path) -> tuple[int, float]:
    """One run: targets and then a judge on one purse. Returns the bill and the budget in units."""
    targets = luck.sample(list(RATES), k=luck.randint(1, 2))
    judge = luck.choice([target for target in RATES if target not in targets])
    plan = make_plan(
        targets=targets, positions=luck.randint(1, 3), probes=4, prefix_chars=luck.choice([50, 800])
    )
    models = {target: Adversary(target, luck) for target in (*targets, judge)}
    dollars = luck.uniform(0.003, 0.03)
    purse = Purse(Budget(dollars, Unit.DOLLARS))
    limits = Limits(attempts=luck.randint(1, 6), concurrency=luck.choice([1, 8, 64]))

    async def work() -> None:
        with open_store(folder) as store:
            run = store.begin_run(plan, "s", {})
            how = {"purse": purse, "limits": limits}
            await collect(plan, store, run, {t: models[t] for t in targets}, **how)
            asked = [[request_to(judge, plan, cell) for cell in plan.cells[:8]]]
            await ask_requests(
                {judge: asked}, store, run.id, {judge: models[judge]}, total=8, **how
            )

    run_virtually(work())
    return sum(model.billed for model in models.values()), dollars * UNITS


def request_to(target: str, plan: Plan, cell: Cell) -> Request:
    request = plan.request(cell)
    return Request(
        target=target, context=request.context, ask=request.ask, decoding=request.decoding
    )


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(200), marks=pytest.mark.slow)])
def test_a_dollar_budget_is_never_exceeded(seeds, tmp_path):
    nearly_spent = 0
    for seed in seeds:
        luck = random.Random(seed)
        try:
            billed, budget = spend_at_random(luck, tmp_path / str(seed))
        except BudgetError:
            continue  # not enough for one call: nothing was sent
        assert billed <= budget * (1 + 1e-12), f"seed {seed}"
        nearly_spent += billed > budget / 2
    assert nearly_spent >= len(seeds) / 4  # the budget was what ended these


@pytest.mark.parametrize("status", [408, 502, 504, 524])
def test_an_answer_lost_on_its_way_is_counted_as_paid(status):
    tariff = Tariff(ScriptedModel("openai/gpt-4.1"), Unit.DOLLARS)
    lost = Failed(kind=FailureKind.SERVER, message="lost", status=status)
    assert tariff.actual(lost, worst=0.25) == 0.25
