from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.engine import Budget, Purse, Reason, collect
from contextecho.engine.budget import Unit
from contextecho.errors import BudgetError, UsageError
from contextecho.models import Answer, Failed, FailureKind, Usage
from engine.models import ScriptedModel
from store.plans import make_plan


@pytest.mark.parametrize(
    ("text", "limit", "unit"),
    [
        ("5usd", 5.0, Unit.DOLLARS),
        ("5 USD", 5.0, Unit.DOLLARS),
        ("$0.50", 0.5, Unit.DOLLARS),
        ("$2usd", 2.0, Unit.DOLLARS),
        (".5usd", 0.5, Unit.DOLLARS),
        ("2Mtok", 2e6, Unit.TOKENS),
        ("2M tokens", 2e6, Unit.TOKENS),
        ("1.5ktok", 1500.0, Unit.TOKENS),
        ("1token", 1.0, Unit.TOKENS),
    ],
)
def test_budgets_are_read_as_written(text, limit, unit):
    assert Budget.parse(text) == Budget(limit, unit)


@pytest.mark.parametrize("text", ["0", "0usd", "$0.00", "0tok", "0.0Mtok"])
def test_a_budget_of_zero_is_a_budget_error(text):
    with pytest.raises(BudgetError, match="allows no call"):
        Budget.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "5", "usd", "-5usd", "5eur", "$5tok", "nan usd", "infusd", "1e3usd", "5usd6", "5.usd"],
)
def test_what_is_no_budget_is_a_usage_error(text):
    with pytest.raises(UsageError, match="not a budget"):
        Budget.parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_budget_or_one_of_our_errors(text):
    try:
        budget = Budget.parse(text)
    except (UsageError, BudgetError):
        return
    assert budget.limit > 0


@given(st.integers(1, 10**9), st.sampled_from(["", "k", "M"]), st.sampled_from(["usd", "tok"]))
def test_scales_multiply(number, scale, unit):
    factor = {"": 1, "k": 1000, "M": 1_000_000}[scale]
    assert Budget.parse(f"{number}{scale}{unit}").limit == number * factor


async def spend(store, plan, model, budget, limits):
    run = store.begin_run(plan, "s", {})
    return await collect(
        plan, store, run, {model.id: model}, purse=Purse(budget) if budget else None, limits=limits
    )


def billing(input: int, output: int) -> ScriptedModel:
    usage = Usage(input=input, output=output)
    return ScriptedModel("openai/one", Answer(text="Fine.", usage=usage))


async def test_a_token_budget_is_never_overrun_and_keeps_what_came(store, limits):
    plan = make_plan(positions=3, probes=30)
    model = billing(150, 50)  # what a call may bill at most here: 400 chars of prefix, 50 out
    collection = await spend(store, plan, model, Budget.parse("9000tok"), limits)
    used = collection.spend.total.input + collection.spend.total.output
    assert collection.reason is Reason.BUDGET
    assert used <= 9000
    assert used >= 9000 - 1000  # less than one worst case is left over
    assert collection.done == len(model.asked) == used // 200
    assert collection.done + collection.missing == 180
    rest = await spend(store, plan, model, None, limits)
    assert (rest.reused, rest.done) == (collection.done, collection.missing)


async def test_the_same_command_with_the_same_budget_goes_on(store, limits):
    plan = make_plan(positions=3, probes=30)
    model = billing(150, 50)
    rounds = 0
    while not (await spend(store, plan, model, Budget.parse("9000tok"), limits)).complete:
        rounds += 1
    assert rounds == 4
    assert len(model.asked) == 180


async def test_a_budget_too_small_for_the_first_call_sends_nothing(store, plan, limits):
    model = billing(100, 50)
    with pytest.raises(BudgetError, match="too little for the first call"):
        await spend(store, plan, model, Budget.parse("100tok"), limits)
    assert model.asked == []


async def test_dollars_cannot_be_counted_where_the_price_is_not_known(store, plan, limits):
    model = billing(100, 50)
    with pytest.raises(UsageError, match=r"price of openai/one is not known.*2Mtok"):
        await spend(store, plan, model, Budget.parse("5usd"), limits)
    assert model.asked == []


async def test_a_dollar_budget_is_counted_at_the_list_price(store, limits):
    target = "openai/gpt-4.1"  # 2 and 8 dollars a million
    plan = make_plan(positions=3, probes=30, targets=(target,))
    usage = Usage(input=150, output=50)
    model = ScriptedModel(target, Answer(text="Fine.", usage=usage))
    call = (150 * 2 + 50 * 8) / 1e6
    collection = await spend(store, plan, model, Budget(50 * call, Unit.DOLLARS), limits)
    assert collection.reason is Reason.BUDGET
    assert collection.dollars == pytest.approx(collection.done * call)
    assert 45 <= collection.done <= 50


async def test_a_free_model_is_never_stopped_by_dollars(store, plan, model, limits):
    model.free = True
    collection = await spend(store, plan, model, Budget.parse("$0.01"), limits)
    assert collection.complete
    assert collection.dollars == 0.0


async def test_a_call_without_usage_counts_its_worst_case(store, limits):
    plan = make_plan(positions=1, probes=40)
    model = ScriptedModel("openai/one", Answer(text="Fine."))
    collection = await spend(store, plan, model, Budget.parse("9000tok"), limits)
    assert collection.reason is Reason.BUDGET
    worst = 9000 / collection.done
    assert 400 + 200 + 50 <= worst <= 400 + 200 + 50 + 250  # prefix, frame, output; JSON, question
    assert collection.dollars is None


async def test_rejected_calls_cost_nothing_and_cut_ones_their_worst_case(store, limits):
    def script(status):
        return Failed(kind=FailureKind.SERVER, message="no", status=status)

    plan = make_plan(positions=1, probes=4)
    patient = msgspec.structs.replace(limits, patience=1000, attempts=3)
    rejected = ScriptedModel("openai/one", script(500))
    first = await spend(store, plan, rejected, Budget.parse("1000tok"), patient)
    assert first.reason is Reason.STOPPED
    cut = ScriptedModel("openai/one", script(None))
    second = await spend(store, plan, cut, Budget.parse("1000tok"), patient)
    assert second.reason is Reason.BUDGET
    assert len(cut.asked) <= 3
