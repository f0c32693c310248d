from __future__ import annotations

import msgspec
import pytest

from contextecho.engine import collect, estimate_plan
from contextecho.stimuli import StimulusKind
from contextecho.studies import Plan
from engine.models import ScriptedModel
from store.plans import make_plan


def with_prefixes_of(plan: Plan, tokens: int) -> Plan:
    return msgspec.structs.replace(plan, prefix_tokens=dict.fromkeys(plan.contexts, tokens))


def test_the_plan_of_the_interface_notes_is_priced_as_they_do():
    """600 replies on 24 prefixes of 7.5k tokens at $3 and $15: $13.5 of input, cached about $2."""
    target = "anthropic/claude-sonnet-4-6"
    plan = with_prefixes_of(make_plan(targets=(target,), positions=12, probes=25), 7_500)
    estimate = estimate_plan(plan, judge=target)
    assert (estimate.cells, estimate.requests) == (600, 600)
    replies, judge = estimate.targets
    assert (replies.requests, replies.prefixes) == (600, 24)
    output = replies.output_tokens.expected * 15 / 1e6
    assert replies.dollars_uncached is not None
    assert replies.dollars_uncached.expected - output == pytest.approx(13.5, rel=0.01)
    assert replies.dollars is not None
    # 24 prefixes written at 3.75, 24 x 24 read again at 0.30
    cached = 24 * 7_500 * 3.75e-6 + 24 * 24 * 7_500 * 0.30e-6
    assert replies.dollars.expected - output == pytest.approx(cached, rel=0.03)
    assert (judge.requests, judge.input_tokens) == (600, 360_000)
    assert estimate.dollars is not None
    assert judge.dollars is not None
    assert estimate.dollars.high == pytest.approx(replies.dollars.high + judge.dollars.high)
    assert estimate.dollars.low < estimate.dollars.expected < estimate.dollars.high


def test_an_unknown_price_is_no_price_and_free_targets_cost_nothing():
    unknown = estimate_plan(make_plan(targets=("openai/one", "local")))
    assert unknown.targets[0].dollars is None
    assert unknown.targets[1].dollars is not None
    assert unknown.targets[1].dollars.high == 0
    assert unknown.dollars is None
    assert unknown.dollars_uncached is None


def test_output_never_exceeds_the_bound_of_the_request():
    plan = make_plan()  # at most 50 output tokens
    output = estimate_plan(plan).targets[0].output_tokens
    assert (output.low, output.expected, output.high) == (12 * 40, 12 * 50, 12 * 50)


def test_the_same_request_is_counted_once():
    plan = make_plan()
    twins = tuple(msgspec.structs.replace(cell, position="P99") for cell in plan.cells)
    estimate = estimate_plan(msgspec.structs.replace(plan, cells=(*plan.cells, *twins)))
    assert (estimate.cells, estimate.requests) == (24, 12)
    assert estimate.targets[0].requests == 12


async def test_what_is_stored_is_no_more_work(store, limits):
    plan = make_plan()
    run = store.begin_run(plan, "s", {})
    half = msgspec.structs.replace(plan, cells=plan.cells[:6])
    await collect(half, store, run, {"openai/one": ScriptedModel("openai/one")}, limits=limits)
    estimate = estimate_plan(plan, store=store)
    assert (estimate.requests, estimate.stored) == (12, 6)
    assert (estimate.targets[0].requests, estimate.targets[0].prefixes) == (6, 2)


def test_short_prefixes_are_not_cached_by_providers_but_always_by_the_local_model():
    plan = with_prefixes_of(make_plan(targets=("openai/one", "local")), 500)
    hosted, local = estimate_plan(plan).targets
    assert hosted.cached_tokens == 0
    assert local.cached_tokens == 4 * 2 * 500
    long = with_prefixes_of(plan, 5_000)
    assert estimate_plan(long).targets[0].cached_tokens == 4 * 2 * 5_000


def test_the_local_model_takes_its_measured_speed():
    plan = with_prefixes_of(make_plan(targets=("local",)), 1_000)
    local = estimate_plan(plan).targets[0]
    asks = local.input_tokens - 12 * 1_000
    assert local.output_tokens.expected == 12 * 40
    assert local.seconds == pytest.approx((4 * 1_000 + asks) / 150 + 12 * 40 / 60)


def test_the_detectable_gap_is_the_one_of_the_interface_notes():
    """5 probes x 12 positions: about .37 at one paraphrase, .12 at ten (normal quantiles)."""
    one = estimate_plan(make_plan(positions=12, probes=5))
    ten = estimate_plan(make_plan(positions=12, probes=5, replicates=10))
    assert (one.positions, one.pairs_per_position) == (12, 5)
    assert one.detectable_gap == pytest.approx(0.37, rel=0.1)  # t with 11 df is a little wider
    assert ten.detectable_gap == pytest.approx(0.12, rel=0.1)


def test_one_position_takes_the_probes_for_clusters_and_no_probe_detects_nothing():
    single = estimate_plan(make_plan(positions=1, probes=5, replicates=4))
    assert single.detectable_gap is not None
    plan = make_plan()
    battery = plan.batteries["probes"]
    stressors = msgspec.structs.replace(
        battery,
        stimuli=tuple(
            msgspec.structs.replace(s, kind=StimulusKind.STRESSOR) for s in battery.stimuli
        ),
    )
    silent = msgspec.structs.replace(plan, batteries={"probes": stressors})
    estimate = estimate_plan(silent, judge="openai/two")
    assert estimate.detectable_gap is None
    assert estimate.targets[1].requests == 0


def test_in_batches_half_the_price_and_no_word_of_a_cache():
    """600 replies on prefixes of 7.5k tokens at $3 (written: $3.75) and $15, all at half."""
    target = "anthropic/claude-sonnet-4-6"
    plan = with_prefixes_of(make_plan(targets=(target,), positions=12, probes=25), 7_500)
    live, batched = estimate_plan(plan).targets[0], estimate_plan(plan, batch=True).targets[0]
    assert (batched.batched, batched.cached_tokens, batched.seconds) == (True, 0, 86_400)
    assert (batched.requests, batched.input_tokens) == (live.requests, live.input_tokens)
    assert live.dollars is not None
    assert live.dollars_uncached is not None
    assert batched.dollars is not None
    assert batched.dollars.low == pytest.approx(live.dollars.low / 2)
    assert batched.dollars.expected == pytest.approx(live.dollars_uncached.expected / 2)
    output = batched.output_tokens.high * 15e-6
    assert batched.dollars.high == pytest.approx((batched.input_tokens * 3.75e-6 + output) / 2)
    judge = estimate_plan(plan, judge=target, batch=True).targets[1]
    assert not judge.batched  # judges are asked live
