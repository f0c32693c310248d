from __future__ import annotations

import asyncio
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.engine import Budget, Limits, Purse, ask_requests, collect, run_in_loop
from contextecho.errors import UsageError
from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated
from contextecho.store import open_store
from engine.models import ANSWER, USAGE, ScriptedModel
from store.plans import make_plan
from waiting import PATIENCE


def judge_request(number: int) -> Request:
    return Request(
        target="judge/j",
        context=Context(system="You are a judge."),
        ask=(Message(role="user", text=f"Reply number {number}"),),
        decoding=Decoding(max_output_tokens=100, temperature=0.0),
    )


async def test_each_reply_is_told_once_whether_new_stored_or_failed(store, plan, limits):
    run = store.begin_run(plan, "s", {})
    invalid = Failed(kind=FailureKind.BAD_REQUEST, message="no")

    def script(request: Request, nth: int) -> Reply:
        return invalid if "number 3" in request.ask[0].text else ANSWER

    judge = ScriptedModel("judge/j", script)
    told: list[tuple[str, object]] = []

    async def ask(count: int):
        told.clear()
        return await ask_requests(
            {"judge/j": [[judge_request(n) for n in range(count)]]},
            store,
            run.id,
            {"judge/j": judge},
            total=count,
            on_reply=lambda request, reply: told.append((request.key, reply)),
            limits=limits,
        )

    first = await ask(5)
    assert (first.done, first.failed, first.missing) == (4, 1, 0)
    second = await ask(7)
    assert (second.done, second.reused, second.failed) == (2, 4, 1)
    assert len(judge.asked) == 7
    assert sorted(key for key, _ in told) == sorted(judge_request(n).key for n in range(7))
    assert dict(told)[judge_request(3).key] == invalid


async def test_judge_calls_are_in_the_ledger_of_the_run_but_no_cells_of_it(store, plan, limits):
    run = store.begin_run(plan, "s", {})
    await ask_requests(
        {"judge/j": [[judge_request(1)]]},
        store,
        run.id,
        {"judge/j": ScriptedModel("judge/j")},
        total=1,
        limits=limits,
    )
    assert store.spend(run.id).by_target["judge/j"].input == USAGE.input
    assert len(list(store.missing(run.id))) == len(plan.cells)


async def test_two_targets_share_one_budget(store, limits):
    plan = make_plan(targets=("openai/one", "openai/two"), positions=2, probes=20)
    run = store.begin_run(plan, "s", {})
    models = {target: ScriptedModel(target) for target in plan.targets}
    collection = await collect(
        plan, store, run, models, purse=Purse(Budget.parse("6000tok")), limits=limits
    )
    total = collection.spend.total
    assert 5000 < total.input + total.output <= 6000
    assert all(model.asked for model in models.values())


async def test_a_budget_that_cannot_be_counted_leaves_the_progress_closed(store, plan, limits):
    closed: list[int] = []

    class Watched:
        every = 60.0

        def show(self, tally): ...

        def say(self, text): ...

        def close(self, tally):
            closed.append(tally.total)

    run = store.begin_run(plan, "s", {})
    with pytest.raises(UsageError):
        await collect(
            plan,
            store,
            run,
            {"openai/one": ScriptedModel("openai/one")},
            purse=Purse(Budget.parse("1usd")),
            progress=Watched(),
            limits=limits,
        )
    assert closed == [12]


def test_models_are_closed_even_when_the_work_fails():
    model = ScriptedModel("openai/one")

    async def work() -> None:
        raise UsageError("no")

    with pytest.raises(UsageError):
        run_in_loop(work(), [model])
    assert model.closed


FATES = st.sampled_from(
    [
        ANSWER,
        Answer(text="Without usage."),
        Refusal(usage=USAGE),
        Truncated(text="I", usage=USAGE),
        *(Failed(kind=kind, message=kind.value) for kind in FailureKind),
        Failed(kind=FailureKind.RATE_LIMIT, message="wait", retry_after=0.002, status=429),
    ]
)


@given(
    fates=st.lists(FATES, min_size=1, max_size=30),
    concurrency=st.integers(1, 6),
    attempts=st.integers(1, 4),
    budget=st.none() | st.integers(1_000, 8_000),
)
def test_whatever_happens_it_ends_and_every_request_is_accounted_for(
    fates, concurrency, attempts, budget
):
    plan = make_plan(positions=2, probes=4)
    limits = Limits(
        attempts=attempts,
        first_delay=0.001,
        longest_delay=0.003,
        first_pause=0.001,
        trials=4,
        concurrency=concurrency,
        most_concurrency=6,
        patience=3,
    )
    turns = iter(fates * 100)

    def script(request: Request, nth: int) -> Reply:
        return next(turns)

    model = ScriptedModel("openai/one", script)
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        run = store.begin_run(plan, "s", {})
        purse = Purse(Budget.parse(f"{budget}tok")) if budget else None
        work = collect(plan, store, run, {model.id: model}, purse=purse, limits=limits)
        got = asyncio.run(asyncio.wait_for(work, timeout=PATIENCE))
        replies = [stored.reply for stored in store.replies(run.id)]
    assert got.done + got.failed + got.missing == got.total == 16
    assert min(got.done, got.failed, got.missing) >= 0
    assert sum(r is not None and not isinstance(r, Failed) for r in replies) == got.done
    assert got.spend.total.attempts == len(model.asked)
    assert got.spend.total.lost == 0
    assert all(count <= attempts for count in model.counts.values())
    if budget:
        assert got.spend.total.input + got.spend.total.output <= budget
    if got.missing:
        assert got.reason is not None
