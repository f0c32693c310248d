from __future__ import annotations

import asyncio
import signal
import time

import msgspec
import pytest

from contextecho.engine import Collection, Limits, Reason, collect, run_in_loop
from contextecho.errors import UsageError
from contextecho.models import (
    Answer,
    Failed,
    FailureKind,
    Model,
    Refusal,
    SimulatedModel,
    Truncated,
)
from contextecho.store import RunInfo, Store
from contextecho.studies import Plan
from engine.models import ANSWER, USAGE, ScriptedModel
from store.plans import make_plan


def begin(store: Store, plan: Plan) -> RunInfo:
    return store.begin_run(plan, "session.jsonl", {"contextecho": "test"})


async def gather(store: Store, plan: Plan, *models: Model, limits: Limits) -> Collection:
    run = begin(store, plan)
    return await collect(plan, store, run, {m.id: m for m in models}, limits=limits)


def counts(collection: Collection) -> tuple[int, int, int, int, int]:
    return (
        collection.total,
        collection.done,
        collection.reused,
        collection.failed,
        collection.missing,
    )


async def test_every_cell_is_asked_once_and_kept(store, plan, model, limits):
    collection = await gather(store, plan, model, limits=limits)
    assert counts(collection) == (12, 12, 0, 0, 0)
    assert collection.complete
    assert collection.reason is None
    assert sorted(r.key for r in model.asked) == sorted(plan.request(c).key for c in plan.cells)
    assert all(stored.reply for stored in store.replies(begin(store, plan).id))


async def test_the_same_command_again_asks_nothing(store, plan, model, limits):
    await gather(store, plan, model, limits=limits)
    again = await gather(store, plan, model, limits=limits)
    assert counts(again) == (12, 0, 12, 0, 0)
    assert len(model.asked) == 12


async def test_one_call_warms_each_prefix_before_the_rest_follow(store, limits):
    plan = make_plan(positions=3, probes=8)
    model = ScriptedModel("openai/one", seconds=0.005)
    await gather(store, plan, model, limits=limits)
    back: set[str] = set()
    sent: dict[str, int] = {}
    for event, request in model.events:
        prefix = request.context.sha256
        if event == "back":
            back.add(prefix)
        else:
            assert prefix in back or sent.get(prefix, 0) == 0
            sent[prefix] = sent.get(prefix, 0) + 1
    assert model.most_in_flight > 1


async def test_a_model_that_takes_one_call_at_a_time_gets_whole_prefixes_in_order(store, limits):
    model = ScriptedModel("local", max_concurrency=1)
    plan = make_plan(positions=3, probes=4, targets=("local",))
    await gather(store, plan, model, limits=limits)
    assert model.most_in_flight == 1
    assert [r.key for r in model.asked] == [plan.request(c).key for c in plan.cells]


async def test_the_next_prefix_is_warmed_by_a_retry_when_the_first_call_fails(store, limits):
    def script(request, nth):
        if nth == 1:
            return Failed(kind=FailureKind.SERVER, message="busy", status=500)
        return Answer(text="Fine.")

    plan = make_plan(positions=1, probes=4)
    model = ScriptedModel("openai/one", script)
    collection = await gather(store, plan, model, limits=limits)
    assert counts(collection) == (8, 8, 0, 0, 0)
    first = model.asked[0]
    same_prefix = [r for r in model.asked if r.context == first.context]
    assert same_prefix[1] == first  # asked again before any other of its prefix


async def test_identical_requests_of_two_studies_are_collected_once(store, plan, model, limits):
    await gather(store, plan, model, limits=limits)
    other = await gather(store, make_plan(study="other"), model, limits=limits)
    assert counts(other) == (12, 0, 12, 0, 0)
    assert other.spend.total.attempts == 0


async def test_identical_cells_within_a_plan_are_asked_once(store, model, limits):
    plan = make_plan(replicates=2)  # at 2 positions, in 2 arms, 3 questions
    twins = tuple(msgspec.structs.replace(cell, position="P99") for cell in plan.cells)
    doubled = msgspec.structs.replace(plan, cells=(*plan.cells, *twins))
    collection = await gather(store, doubled, model, limits=limits)
    assert counts(collection) == (24, 24, 0, 0, 0)
    assert sum(s.reply is not None for s in store.replies(begin(store, doubled).id)) == 48


async def test_refusals_and_truncations_are_final(store, plan, limits):
    def script(request, nth):
        return Refusal(stop_reason="refusal") if "number 0" in request.ask[0].text else Truncated()

    model = ScriptedModel("openai/one", script)
    collection = await gather(store, plan, model, limits=limits)
    assert counts(collection) == (12, 12, 0, 0, 0)
    assert len(model.asked) == 12


async def test_empty_answers_are_given_up_after_the_attempts_and_asked_again_next_time(
    store, plan, limits
):
    def script(request, nth):
        if "number 1" in request.ask[0].text and nth <= 6:
            return Failed(kind=FailureKind.EMPTY, message="no text", usage=USAGE)
        return Answer(text="Fine.", usage=USAGE)

    model = ScriptedModel("openai/one", script)
    first = await gather(store, plan, model, limits=limits)
    assert counts(first) == (12, 8, 0, 4, 0)
    assert not first.complete
    assert first.spend.total.attempts == 8 + 4 * 6
    assert first.spend.total.failed == 4 * 6
    second = await gather(store, plan, model, limits=limits)
    assert counts(second) == (12, 4, 8, 0, 0)


async def test_an_invalid_request_is_asked_once_and_the_rest_goes_on(store, plan, limits):
    def script(request, nth):
        if "number 1" in request.ask[0].text:
            return Failed(kind=FailureKind.BAD_REQUEST, message="too long", status=400)
        return Answer(text="Fine.")

    model = ScriptedModel("openai/one", script)
    collection = await gather(store, plan, model, limits=limits)
    assert counts(collection) == (12, 8, 0, 4, 0)
    assert len(model.asked) == 12
    again = await gather(store, plan, model, limits=limits)
    assert counts(again) == (12, 0, 8, 4, 0)
    assert len(model.asked) == 12


@pytest.mark.parametrize(
    ("kind", "see_to"),
    [
        (FailureKind.AUTH, "its key"),
        (FailureKind.NOT_FOUND, "the base URL, which usually ends in /v1"),
        (FailureKind.UNREACHABLE, "a server listens"),
    ],
)
async def test_a_failing_provider_stops_its_own_lane_only(store, limits, kind, see_to):
    plan = make_plan(targets=("openai/one", "openai/two"))
    broken = ScriptedModel("openai/one", Failed(kind=kind, message="not this way"))
    sound = ScriptedModel("openai/two")
    collection = await gather(store, plan, broken, sound, limits=limits)
    assert collection.stopped_targets.keys() == {"openai/one"}
    assert collection.stopped_targets["openai/one"].startswith("not this way (see ")
    assert see_to in collection.stopped_targets["openai/one"]
    assert collection.done == 12
    assert collection.failed + collection.missing == 12
    assert collection.reason is Reason.STOPPED
    assert len(broken.asked) <= limits.concurrency


async def test_a_target_that_never_answers_is_given_up_after_one_request(store, limits):
    plan = make_plan(positions=6, probes=20)
    model = ScriptedModel("openai/one", Failed(kind=FailureKind.NOT_JSON, message="HTML, not JSON"))
    collection = await gather(store, plan, model, limits=limits)
    assert collection.stopped_targets == {"openai/one": "HTML, not JSON"}
    assert len(model.asked) <= 12 * limits.attempts  # one request for each prefix, at most


async def test_what_the_store_holds_is_counted_though_the_target_was_given_up(store, limits):
    await gather(store, make_plan(positions=3), ScriptedModel("openai/one"), limits=limits)
    gone = ScriptedModel("openai/one", Failed(kind=FailureKind.UNREACHABLE, message="gone"))
    collection = await gather(store, make_plan(positions=3, probes=9), gone, limits=limits)
    total, done, reused, failed, missing = counts(collection)
    assert (total, done, reused) == (54, 0, 18)
    assert failed >= 1
    assert failed + missing == 36


async def test_a_target_that_stops_answering_is_given_up_after_a_row_of_failures(store, limits):
    plan = make_plan(positions=1, probes=200)
    answered = 0

    def script(request, nth):
        nonlocal answered
        if answered < 50:
            answered += 1
            return Answer(text="Fine.")
        return Failed(kind=FailureKind.SERVER, message="gone", status=500)

    collection = await gather(store, plan, ScriptedModel("openai/one", script), limits=limits)
    assert collection.done == 50
    assert collection.stopped_targets == {"openai/one": "it failed 12 trials, the last: gone"}
    assert collection.failed == 0  # nobody's attempts were used up on a target that is down
    assert collection.missing == 350


async def test_a_rate_limited_call_leaves_its_slot_and_comes_back(store, limits):
    plan = make_plan(positions=4, probes=10)

    def script(request, nth):
        if nth == 1:
            return Failed(
                kind=FailureKind.RATE_LIMIT, message="slow down", status=429, retry_after=0.02
            )
        return Answer(text="Fine.")

    model = ScriptedModel("openai/one", script)
    collection = await gather(store, plan, model, limits=limits)
    assert counts(collection) == (80, 80, 0, 0, 0)
    assert len(model.asked) == 160


async def test_retry_after_holds_the_whole_lane(store):
    plan = make_plan(positions=4, probes=2)
    times: list[float] = []

    def script(request, nth):
        times.append(time.monotonic())
        if len(times) == 1:
            return Failed(kind=FailureKind.RATE_LIMIT, message="wait", retry_after=0.3)
        return Answer(text="Fine.")

    limits = Limits(first_delay=0.01, longest_delay=1.0, concurrency=1)
    collection = await gather(store, plan, ScriptedModel("openai/one", script), limits=limits)
    assert collection.complete
    assert times[1] - times[0] >= 0.29


async def test_two_collections_of_one_run_at_once_are_refused(store, plan, limits):
    run = begin(store, plan)
    with store.collecting(run.id), pytest.raises(UsageError, match="another process"):
        await collect(plan, store, run, {"openai/one": ScriptedModel("openai/one")}, limits=limits)


async def test_a_defect_in_a_model_is_raised_and_stops_everything(store, plan, limits):
    def script(request, nth):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await gather(store, plan, ScriptedModel("openai/one", script), limits=limits)


def test_interrupting_keeps_what_came_and_closes_the_models(store, limits, interruptible):
    plan = make_plan(positions=2, probes=30)
    run = begin(store, plan)

    def interrupt(request, nth):
        if len(model.asked) > 50 and request is model.asked[50]:
            signal.raise_signal(signal.SIGINT)
        return ANSWER

    model = ScriptedModel("openai/one", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_in_loop(collect(plan, store, run, {"openai/one": model}, limits=limits), [model])
    assert model.closed
    missing = len(list(store.missing(run.id)))
    assert 0 < missing < 120
    spend = store.spend(run.id).total
    assert spend.attempts - spend.lost == 120 - missing
    again = ScriptedModel("openai/one")
    collection = run_in_loop(
        collect(plan, store, run, {"openai/one": again}, limits=limits), [again]
    )
    assert counts(collection) == (120, missing, 120 - missing, 0, 0)


def test_a_simulated_target_is_collected_like_any_other(store, limits):
    plan = make_plan(targets=("simulated/gap=0.5,seed=1",))
    run = begin(store, plan)
    target = plan.targets[0]
    model = SimulatedModel.for_plan(plan, target=target)
    collection = run_in_loop(collect(plan, store, run, {target: model}, limits=limits), [model])
    assert collection.total == 12
    assert collection.dollars == 0.0


async def test_memory_of_a_lane_is_a_window_not_the_plan(store, limits):
    plan = make_plan(positions=1, probes=500)
    most = 0

    class Watched(ScriptedModel):
        async def answer(self, request):
            nonlocal most
            most = max(most, len(asyncio.all_tasks()))
            return await super().answer(request)

    await gather(store, plan, Watched("openai/one"), limits=limits)
    # A call for each slot, and the one before it, whose reply is being written.
    assert most <= 2 * limits.most_concurrency + 10
