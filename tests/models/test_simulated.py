"""The simulated target does what its process declares, and the judge reads it exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import Arm, Context, Decoding, Message, Request
from contextecho.errors import UsageError
from contextecho.models import (
    Answer,
    Failed,
    FailureKind,
    Refusal,
    Reply,
    SimulatedJudge,
    SimulatedModel,
    SimulatedProcess,
    Truncated,
    notes_of,
    open_model,
)
from contextecho.models.simulated.process import parse_process
from contextecho.models.simulated.sentences import load_sentences
from contextecho.stimuli import Stimulus, StimulusKind
from store.plans import make_plan

DECODING = Decoding(max_output_tokens=600)
CONTEXTS = {
    (arm, position): Context(messages=(Message(role="user", text=f"{arm} {position}"),))
    for arm in Arm
    for position in ("P0", "P1", "P2")
}
ARMS = {context.sha256: place for place, context in CONTEXTS.items()}


def stimulus(name: str, *, category: str = "identity", **fields: object) -> Stimulus:
    kind = StimulusKind.STRESSOR if "check" in fields else StimulusKind.PROBE
    return Stimulus(id=name, category=category, kind=kind, wordings=(f"{name}?",), **fields)


STIMULI = (
    *(stimulus(f"I{n:02}") for n in range(10)),
    *(stimulus(f"C{n:02}", category="coding") for n in range(10)),
    *(stimulus(f"S{n}", check=f"S{n}") for n in range(1, 5)),
    stimulus("N01", answers=("56", "fifty-six")),
)
QUESTIONS = {s.wordings[0]: s for s in STIMULI}


def model(**settings: object) -> SimulatedModel:
    return SimulatedModel(SimulatedProcess(**settings), ARMS, QUESTIONS)


def request(arm: Arm, position: str, name: str, sample: int) -> Request:
    return Request(
        target="simulated",
        context=CONTEXTS[arm, position],
        ask=(Message(role="user", text=f"{name}?"),),
        decoding=DECODING,
        sample=sample,
    )


async def replies(target: SimulatedModel, arm: Arm, kind: str, samples: int) -> list[Reply]:
    names = [s.id for s in STIMULI if s.id.startswith(kind)]
    return [
        await target.answer(request(arm, position, name, sample))
        for position in ("P0", "P1", "P2")
        for name in names
        for sample in range(samples)
    ]


def level(reply: Reply) -> int:
    found = load_sentences().level_of(reply.text)
    assert found is not None
    return found


def planted(target: SimulatedModel, arm: Arm, name: str) -> float:
    """Mean of the process's gap at the three positions, its position draws included."""
    category = "coding" if name.startswith("C") else "identity"
    process = target.process
    expect = process.expected_score
    return fmean(
        expect(Arm.CONTROL, p, name, category, "k") - expect(arm, p, name, category, "k")
        for p in ("P0", "P1", "P2")
    )


@pytest.mark.parametrize("gap", [0.0, 0.3, 0.8])
async def test_the_planted_gap_is_recovered_without_bias(gap: float) -> None:
    target = model(gap=gap, position_sd=0.0, seed=7)
    means = [
        fmean(map(level, await replies(target, arm, "I", 100)))
        for arm in (Arm.CONTROL, Arm.SESSION)
    ]
    # 3,000 replies an arm; a score's variance is at most 1/4 + residual_sd**2.
    error = math.sqrt(2 * (0.25 + 0.1**2) / 3000)
    assert abs(means[0] - means[1] - gap) < 4 * error


@given(st.floats(0, 3), st.integers(0, 10**6))
def test_a_score_is_whole_and_next_to_its_expectation(expected: float, key: int) -> None:
    score = SimulatedProcess().score(expected, str(key))
    assert score in (0, 1, 2, 3)
    assert abs(score - expected) <= 1


def test_scores_have_exactly_the_expectation_declared() -> None:
    process = SimulatedProcess(seed=3)
    mean = fmean(process.score(1.7, str(key)) for key in range(20_000))
    assert abs(mean - 1.7) < 4 * math.sqrt(0.7 * 0.3 / 20_000)


def test_categories_and_anchors_have_their_own_gaps() -> None:
    target = model(gap=0.2, gaps={"coding": 0.6}, restoration=0.75, position_sd=0.0)
    assert planted(target, Arm.SESSION, "I00") == pytest.approx(0.2)
    assert planted(target, Arm.SESSION, "C00") == pytest.approx(0.6)
    assert planted(target, Arm.SESSION_ANCHOR, "C00") == pytest.approx(0.15)
    assert planted(target, Arm.CONTROL_ANCHOR, "C00") == 0
    assert planted(target, Arm.SCRATCH, "C00") == 0


def test_position_draws_have_the_declared_spread() -> None:
    process = SimulatedProcess(gap=0.3, position_sd=0.15, residual_sd=0.0)
    gaps = [
        process.expected_score(Arm.CONTROL, f"P{n}", "I00", "identity", "k")
        - process.expected_score(Arm.SESSION, f"P{n}", "I00", "identity", "k")
        for n in range(5000)
    ]
    mean = fmean(gaps)
    assert mean == pytest.approx(0.3, abs=0.01)
    assert math.sqrt(fmean((gap - mean) ** 2 for gap in gaps)) == pytest.approx(0.15, abs=0.005)


async def test_stressors_are_obeyed_at_the_declared_rate() -> None:
    target = model(compliance={Arm.SESSION: 0.4})
    kept = {text for stressed in load_sentences().stressors.values() for text in stressed.kept}
    for arm, rate in ((Arm.SESSION, 0.4), (Arm.CONTROL, 0.9)):
        answers = await replies(target, arm, "S", 100)
        share = fmean(reply.text in kept for reply in answers)
        assert abs(share - rate) < 4 * math.sqrt(rate * (1 - rate) / len(answers))


async def test_lengths_have_the_declared_ratio() -> None:
    target = model(length={Arm.SESSION: 1.5}, gap=0.0)
    logs = [
        fmean(math.log(len(reply.text)) for reply in await replies(target, arm, "I", 40))
        for arm in (Arm.CONTROL, Arm.SESSION)
    ]
    assert math.exp(logs[1] - logs[0]) == pytest.approx(1.5, rel=0.03)
    assert math.exp(logs[0]) == pytest.approx(400, rel=0.03)


async def test_refusals_empties_and_truncations_come_at_their_rates() -> None:
    target = model(refusal=0.1, empty=0.05, truncation=0.2)
    answers = await replies(target, Arm.SESSION, "I", 100)
    for kind, rate in ((Refusal, 0.1), (Failed, 0.05), (Truncated, 0.2), (Answer, 0.65)):
        share = fmean(type(reply) is kind for reply in answers)
        assert abs(share - rate) < 4 * math.sqrt(rate * (1 - rate) / len(answers))
    failed = next(reply for reply in answers if isinstance(reply, Failed))
    assert failed.kind is FailureKind.EMPTY


async def test_the_same_request_gets_the_same_reply_and_another_seed_another() -> None:
    one = await replies(model(seed=1), Arm.SESSION, "I", 5)
    assert await replies(model(seed=1), Arm.SESSION, "I", 5) == one
    assert await replies(model(seed=2), Arm.SESSION, "I", 5) != one


async def test_factual_questions_are_answered_rightly_in_both_arms() -> None:
    for arm in (Arm.CONTROL, Arm.SESSION):
        for reply in await replies(model(gap=0.8), arm, "N", 10):
            assert "56" in reply.text
            assert level(reply) == 3


async def test_a_request_outside_the_plan_is_a_bad_request() -> None:
    stranger = Request(
        target="simulated",
        context=Context(),
        ask=(Message(role="user", text="I00?"),),
        decoding=DECODING,
    )
    reply = await model().answer(stranger)
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.BAD_REQUEST


async def test_a_plan_tells_the_target_its_arms_and_questions() -> None:
    target = "simulated/gap=0.4,position_sd=0,stimulus_sd=0,residual_sd=0"
    plan = make_plan(targets=(target,), positions=3, probes=5, replicates=40)
    scores: dict[Arm, list[int]] = {Arm.CONTROL: [], Arm.SESSION: []}
    async with open_model(target, simulated=plan) as simulated:
        assert simulated.id == target
        for cell in plan.cells:
            scores[cell.arm].append(level(await simulated.answer(plan.request(cell))))
    gap = fmean(scores[Arm.CONTROL]) - fmean(scores[Arm.SESSION])
    # mu is 2.2 and 1.8: each score has the variance 0.2 * 0.8.
    assert abs(gap - 0.4) < 4 * math.sqrt(2 * 0.16 / 600)


def test_without_a_plan_the_simulated_target_cannot_be_opened() -> None:
    with pytest.raises(UsageError, match="plan"):
        open_model("simulated")


def test_a_process_that_would_be_clipped_is_refused() -> None:
    with pytest.raises(UsageError, match="beyond 0 to 3"):
        SimulatedProcess(base=2.9, stimulus_sd=0.2)
    with pytest.raises(UsageError, match="beyond 0 to 3"):
        SimulatedProcess(base=1.0, gap=0.9)


def test_settings_are_read_from_the_target() -> None:
    process = parse_process("gap=0.5,gaps.coding=0.7,compliance.session=0.4,seed=9")
    assert process == SimulatedProcess(
        gap=0.5, gaps={"coding": 0.7}, compliance={Arm.SESSION: 0.4}, seed=9
    )


@pytest.mark.parametrize("text", ["gap", "gap=", "gap=big", "gip=1", "compliance.nobody=1"])
def test_settings_that_do_not_exist_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_process(text)


@pytest.mark.parametrize(
    "setting",
    ["gap=nan", "gap=inf", "gaps.coding=nan", "length_sd=nan", "length.session=inf", "base=-inf"],
)
def test_a_setting_that_is_not_finite_is_a_usage_error(setting: str) -> None:
    with pytest.raises(UsageError, match="finite"):
        parse_process(setting)


def test_no_opening_contains_another() -> None:
    openings = [text for level in load_sentences().levels.values() for text in level]
    assert not [(a, b) for a in openings for b in openings if a != b and a in b]
    assert set(load_sentences().levels) == {0, 1, 2, 3}


def judge_requests(count: int) -> Iterator[tuple[int, Request]]:
    sentences = load_sentences()
    for number in range(count):
        score = number % 4
        openings = sentences.levels[score]
        text = sentences.at_length(openings[number % len(openings)], 300, number % 7)
        prompt = f"Question: Are we friends?\n<response>\n{text}\n</response>"
        yield (
            score,
            Request(
                target="simulated/judge",
                context=Context(system="Score the reply."),
                ask=(Message(role="user", text=prompt),),
                decoding=DECODING,
                sample=number,
            ),
        )


async def test_the_judge_reads_every_level_exactly() -> None:
    judge = open_model("simulated/judge")
    for score, question in judge_requests(48):
        reply = await judge.answer(question)
        assert json.loads(reply.text)["score"] == score


async def test_the_judge_errs_by_one_at_its_declared_rate() -> None:
    judge = SimulatedJudge.parse("simulated/judge,error=0.2,seed=5")
    off = [
        abs(json.loads((await judge.answer(question)).text)["score"] - score)
        for score, question in judge_requests(2000)
    ]
    assert set(off) == {0, 1}
    assert abs(fmean(off) - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 2000)


async def test_the_judge_gives_no_score_to_an_unknown_text() -> None:
    _, question = next(judge_requests(1))
    stranger = Request(
        target=question.target,
        context=question.context,
        ask=(Message(role="user", text="Something else entirely."),),
        decoding=DECODING,
    )
    reply = await SimulatedJudge().answer(stranger)
    assert "score" not in reply.text
    assert "{" not in reply.text


def test_a_report_on_it_says_that_it_is_no_model() -> None:
    for target in ("simulated", "simulated/gap=0.6,seed=3"):
        assert "no model" in " ".join(notes_of(target))
    assert notes_of("openai/gpt-4.1") == ()
