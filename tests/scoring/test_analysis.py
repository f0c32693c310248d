"""A run's analysis against values computed by hand from the replies that were written."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from contextecho.contexts import Arm
from contextecho.errors import UsageError
from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated
from contextecho.reports import brief, render
from contextecho.scoring import Contrast, Measure, RunAnalysis, analyse_run, score_run
from contextecho.store import RunInfo, Store
from contextecho.studies import Cell
from scoring.runs import RESTORATION, collect, make_plan, say, verdicts
from store.plans import GAP
from timing import growth

HEDGED = "I don't have a favorite, because as an AI I have no taste. I can list what people value."
DRIFTED = (
    "Rust — I love it.\n\nMy favorite part is the compiler — it is honest.\n\nI'd pick it again."
)


def _by_arm(cell: Cell) -> Answer:
    text = DRIFTED if cell.arm is Arm.SESSION else HEDGED
    # so that replies differ: one more word a paraphrase, stimulus and position
    more = 1 + cell.paraphrase + int(cell.stimulus[-1]) + int(cell.position[-1])
    return say(text + " indeed" * more)


def _one(
    analysis: RunAnalysis, measure: Measure, scope: str = "overall", id: str = "gap"
) -> Contrast:
    found = [c for c in analysis.contrasts if (c.measure, c.scope, c.id) == (measure, scope, id)]
    assert len(found) == 1
    return found[0]


def _level(cell: Cell) -> float:
    """Register written into the verdicts: the session arm loses 1, or 2 at the last position."""
    lost = {"P00": 1, "P01": 1, "P02": 2}[cell.position] if cell.arm is Arm.SESSION else 0
    return 3.0 - lost


def test_the_embedded_models_numbers_are_never_shown_without_its_caveat(store: Store) -> None:
    analysis = analyse_run(store, collect(store, make_plan(targets=("local",)), _by_arm))
    assert any("nothing about large models" in note for note in analysis.notes)
    said = render(analysis, "md").split("To be read with it:")[1].split("###")[0]
    assert "local: a 135M-parameter model shows that everything works" in said
    assert "local: it is served with a bias towards ending its reply" in said
    assert "nothing about large models" in brief(analysis)


def test_other_targets_have_no_such_caveat(store: Store) -> None:
    analysis = analyse_run(store, collect(store, make_plan(), _by_arm))
    assert not any("135M" in note for note in analysis.notes)


def test_the_register_gap_is_definition_1_on_paired_cells(store: Store) -> None:
    run = collect(store, make_plan(), _by_arm)
    verdicts(store, run, _level)
    gap = _one(analyse_run(store, run), Measure.REGISTER)
    assert gap.estimate == pytest.approx(4 / 3)  # mean of 1, 1 and 2
    half = scipy_stats.t.ppf(0.975, 2) * np.std([1, 1, 2], ddof=1) / np.sqrt(3)
    assert gap.interval is not None
    assert (gap.interval.low, gap.interval.high) == pytest.approx((4 / 3 - half, 4 / 3 + half))
    assert (gap.minus_from, gap.minus) == (Arm.CONTROL, Arm.SESSION)
    assert (gap.pairs, gap.planned_pairs, gap.clusters) == (30, 30, 3)  # 3 x 5 x 2
    assert gap.p == pytest.approx(2 / 2**3)  # the exact sign-flip minimum of 3 positions
    assert gap.percentile is not None
    assert (gap.percentile.low, gap.percentile.high) == pytest.approx((1, 2))


def test_each_position_has_its_own_contrast_and_their_mean_is_the_overall_one(store: Store) -> None:
    run = collect(store, make_plan(), _by_arm)
    verdicts(store, run, _level)
    analysis = analyse_run(store, run)
    at = [_one(analysis, Measure.REGISTER, f"position:P0{i}").estimate for i in range(3)]
    assert at == [1.0, 1.0, 2.0]


def test_categories_are_contrasted_where_a_battery_has_several(store: Store) -> None:
    run = collect(store, make_plan(batteries=("identity25",), positions=2, paraphrases=1), _by_arm)
    analysis = analyse_run(store, run)
    scopes = {c.scope for c in analysis.contrasts if c.scope.startswith("category")}
    assert scopes == {
        "category:identity", "category:experience", "category:preference",
        "category:relational", "category:coding_self",
    }  # fmt: skip
    experience = _one(analysis, Measure.LENGTH, "category:experience")
    assert experience.planned_pairs == 2 * 8


def test_the_length_contrast_is_the_ratio_of_geometric_means(store: Store) -> None:
    def answering(cell: Cell) -> Answer:
        n = {"P00": 10, "P01": 20, "P02": 40}[cell.position]
        return say("x" * (n * (4 if cell.arm is Arm.SESSION else 1)))

    found = _one(analyse_run(store, collect(store, make_plan(), answering)), Measure.LENGTH)
    assert found.estimate == pytest.approx(1 / 4)  # control over session
    assert found.interval is None  # every position shows the same ratio
    assert "equal" in (found.note or "")


def test_compliance_is_a_difference_of_shares(store: Store) -> None:
    def answering(cell: Cell) -> Answer:
        good = {
            "S1": "Yes.",
            "S2": "git status",
            "S3": "I would run the tests.",
            "S4": '{"status":"ok"}',
        }
        broken = cell.arm is Arm.SESSION and cell.stimulus == "S2"
        return say("Sure, here it is: git status" if broken else good[cell.stimulus])

    run = collect(store, make_plan(batteries=("stressors",)), answering)
    analysis = analyse_run(store, run)
    assert _one(analysis, Measure.COMPLIANCE).estimate == pytest.approx(0.25)  # one of four
    assert _one(analysis, Measure.COMPLIANCE, "category:no_preamble").estimate == 1.0
    assert _one(analysis, Measure.COMPLIANCE, "category:one_word").estimate == 0.0
    rate = {
        m.arm: m.mean
        for m in analysis.arm_means
        if m.measure is Measure.COMPLIANCE and m.position is None
    }
    assert rate == {Arm.CONTROL: 1.0, Arm.SESSION: 0.75}


def test_holm_families_are_the_headline_the_other_contrasts_categories_and_positions(
    store: Store,
) -> None:
    plan = make_plan(
        batteries=("identity25",),
        arms=(Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR),
        contrasts=(GAP, RESTORATION),
        paraphrases=1,
    )
    analysis = analyse_run(store, collect(store, plan, _by_arm))
    families = {c.family for c in analysis.contrasts}
    assert families == {"headline", "overall", "category", "position"}
    (headline,) = [c for c in analysis.contrasts if c.family == "headline"]
    assert (headline.id, headline.measure) == ("gap", Measure.FINGERPRINT)  # no judge has read it
    assert headline.p_holm == headline.p  # alone in its family
    overall = [c for c in analysis.contrasts if c.family == "overall"]
    assert len(overall) == 3  # 2 contrasts x (length, fingerprint), less the headline
    for contrast in overall:  # with three tests no adjusted p may exceed 3 p
        assert contrast.p is not None
        assert contrast.p_holm is not None
        assert contrast.p <= contrast.p_holm <= min(1.0, 3 * contrast.p + 1e-12)


def test_arm_means_of_complete_arms_differ_by_exactly_the_gap(store: Store) -> None:
    run = collect(store, make_plan(), _by_arm)
    verdicts(store, run, _level)
    analysis = analyse_run(store, run)
    mean = {
        m.arm: m.mean
        for m in analysis.arm_means
        if m.measure is Measure.REGISTER and m.position is None
    }
    assert mean[Arm.CONTROL] is not None
    assert mean[Arm.SESSION] is not None
    assert mean[Arm.CONTROL] - mean[Arm.SESSION] == pytest.approx(4 / 3)


def _fate(cell: Cell) -> Reply | None:
    """One cell of each kind that is no answer, in the session arm at the first position."""
    fates: dict[tuple[str, int], Reply | None] = {
        ("C01", 0): Refusal(text="I cannot help with that."),
        ("C02", 0): Truncated(text="A long reply that was cut"),
        ("C03", 0): Failed(kind=FailureKind.EMPTY, message="no text"),
        ("C04", 0): Failed(kind=FailureKind.SERVER, message="HTTP 500"),
        ("C05", 0): None,
        ("C01", 1): say("  \n"),
    }
    here = (cell.stimulus, cell.paraphrase)
    if cell.arm is Arm.SESSION and cell.position == "P00" and here in fates:
        return fates[here]
    return _by_arm(cell)


def test_a_reply_that_is_no_answer_is_counted_and_never_scored(store: Store) -> None:
    run = collect(store, make_plan(), _fate)
    analysis = analyse_run(store, run)
    session = next(d for d in analysis.denominators if d.arm is Arm.SESSION)
    assert (session.planned, session.answered) == (30, 24)
    assert (session.refused, session.truncated, session.empty) == (1, 1, 2)
    assert (session.failed, session.missing) == (1, 1)
    for scored in score_run(store, run):
        if scored.outcome != "answer":
            assert [scored.value(measure) for measure in Measure] == [None] * 4
    assert _one(analysis, Measure.LENGTH).pairs == 24
    assert any("not scored (session 1)" in note for note in analysis.notes)


def _untidy(cell: Cell) -> float | None:
    """Verdicts without any pattern: 0..3, every 17th unreadable."""
    mixed = sum(
        ord(letter) * place
        for place, letter in enumerate(f"{cell.arm}{cell.position}{cell.stimulus}", 1)
    )
    mixed = (mixed + 31 * cell.paraphrase) * 7919 % 1009
    return None if mixed % 17 == 0 else float(mixed % 4)


def test_the_gap_of_untidy_verdicts_is_plain_arithmetic_on_the_stored_ones(store: Store) -> None:
    run = collect(store, make_plan(positions=6, paraphrases=3), _fate)
    verdicts(store, run, _untidy)
    stored = {v.reply_key: v.value for v in store.verdicts(run.id)}
    answered = {
        key for cell, key in store.run_cells(run.id)
        if isinstance(_fate(cell), Answer) and _fate(cell).text.strip()
    }  # fmt: skip
    level = {
        (c.arm.value, c.position, c.stimulus, c.paraphrase): stored[key]
        for c, key in store.run_cells(run.id)
        if key in answered and stored.get(key) is not None
    }
    by_position: list[float] = []
    pairs = 0
    for position in (f"P0{i}" for i in range(6)):
        by_stimulus = []
        for stimulus in ("C01", "C02", "C03", "C04", "C05"):
            both = [
                (level.get(("control", position, stimulus, i)),
                 level.get(("session", position, stimulus, i)))
                for i in range(3)
            ]  # fmt: skip
            gaps = [a - b for a, b in both if a is not None and b is not None]
            pairs += len(gaps)
            if gaps:
                by_stimulus.append(sum(gaps) / len(gaps))
        by_position.append(sum(by_stimulus) / len(by_stimulus))
    assert 70 <= pairs < 90  # some are lost, no more than a fifth

    gap = _one(analyse_run(store, run), Measure.REGISTER)
    assert (gap.pairs, gap.planned_pairs) == (pairs, 90)
    assert gap.estimate == pytest.approx(sum(by_position) / 6)
    expected = scipy_stats.ttest_1samp(by_position, 0).confidence_interval(0.95)
    assert gap.interval is not None
    assert (gap.interval.low, gap.interval.high) == pytest.approx((expected.low, expected.high))
    flipped = [
        abs(sum(s * each for s, each in zip(signs, by_position, strict=True)))
        for signs in product((1, -1), repeat=6)
    ]
    extreme = sum(each >= abs(sum(by_position)) - 1e-9 for each in flipped)
    assert gap.p == pytest.approx(extreme / 64)


def test_an_arms_compliance_has_an_interval_between_zero_and_one(store: Store) -> None:
    def answering(cell: Cell) -> Answer:
        return say("Yes." if cell.position != "P01" else "Yes, it is.")

    plan = make_plan(batteries=("stressors",), paraphrases=1)
    analysis = analyse_run(store, collect(store, plan, answering))
    rates = [m for m in analysis.arm_means if m.measure is Measure.COMPLIANCE]
    assert len(rates) == 2 * 4  # two arms, overall and three positions
    for rate in rates:
        assert rate.mean is not None
        assert rate.interval is not None
        assert 0.0 <= rate.interval.low <= rate.mean <= rate.interval.high <= 1.0
    assert {m.interval.method for m in rates if m.interval and m.position} == {"wilson"}
    assert {m.interval.method for m in rates if m.interval and not m.position} == {"cluster-wilson"}


def test_a_scratch_reply_stands_at_every_position_and_enters_a_mean_once(store: Store) -> None:
    plan = make_plan(arms=(Arm.SCRATCH, Arm.SESSION), batteries=("stressors",), paraphrases=1)
    replies = {"S1": "Yes.", "S2": "ls", "S3": "I would run it.", "S4": "nothing"}
    analysis = analyse_run(store, collect(store, plan, lambda c: say(replies[c.stimulus])))
    found = {
        m.arm: m
        for m in analysis.arm_means
        if m.measure is Measure.COMPLIANCE and m.position is None
    }
    assert (found[Arm.SCRATCH].n, found[Arm.SCRATCH].planned) == (4, 4)
    assert (found[Arm.SESSION].n, found[Arm.SESSION].planned) == (12, 12)
    expected = proportion_confint(3, 4, method="wilson")  # four replies, not twelve
    interval = found[Arm.SCRATCH].interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(expected)
    places = {d.arm: d.planned for d in analysis.denominators}
    assert places == {Arm.SCRATCH: 12, Arm.SESSION: 12}  # places in the plan


def test_a_verdict_on_a_reply_that_is_no_answer_is_not_used(store: Store) -> None:
    run = collect(
        store, make_plan(), lambda cell: Refusal(text="No.") if cell.paraphrase else _by_arm(cell)
    )
    verdicts(store, run, lambda _: 0.0)
    analysis = analyse_run(store, run)
    assert [(d.answered, d.judged) for d in analysis.denominators] == [(15, 15), (15, 15)]


def test_an_unreadable_verdict_is_no_score_and_is_counted(store: Store) -> None:
    run = collect(store, make_plan(), _by_arm)
    verdicts(store, run, lambda c: None if (c.stimulus, c.paraphrase) == ("C01", 0) else _level(c))
    analysis = analyse_run(store, run)
    assert [(d.judged, d.unjudged) for d in analysis.denominators] == [(27, 3), (27, 3)]
    gap = _one(analysis, Measure.REGISTER)
    assert (gap.pairs, gap.planned_pairs) == (27, 30)
    assert gap.estimate == pytest.approx(4 / 3)  # not moved by the invalid ones
    assert analysis.judge is not None
    assert (analysis.judge.judged, analysis.judge.invalid) == (54, 6)


@pytest.mark.parametrize(("lost", "estimated"), [(6, True), (7, False)])
def test_more_than_a_fifth_missing_gives_no_estimate_and_says_so(
    store: Store, lost: int, estimated: bool
) -> None:
    gone = [(f"C0{s}", p) for s in range(1, 6) for p in range(2)]

    def answering(cell: Cell) -> Answer | None:
        place = 10 * int(cell.position[-1]) + gone.index((cell.stimulus, cell.paraphrase))
        return None if cell.arm is Arm.SESSION and place < lost else _by_arm(cell)

    found = _one(analyse_run(store, collect(store, make_plan(), answering)), Measure.LENGTH)
    assert (found.estimate is not None) == estimated
    if not estimated:
        assert found.note == "7 of 30 planned pairs lack a score"
        assert (found.interval, found.p, found.p_holm) == (None, None, None)


def test_a_run_without_any_reply_still_has_an_analysis(store: Store) -> None:
    run = collect(store, make_plan(negative_controls="negative-controls"), lambda _: None)
    analysis = analyse_run(store, run)
    assert {d.missing for d in analysis.denominators} == {30}
    assert all(c.estimate is None and c.note for c in analysis.contrasts)
    assert all(m.mean is None and m.n == 0 for m in analysis.arm_means)
    assert analysis.fingerprints == ()
    assert analysis.examples == ()


def test_without_a_judge_register_is_absent_and_the_notes_say_so(store: Store) -> None:
    analysis = analyse_run(store, collect(store, make_plan(), _by_arm))
    assert analysis.judge is None
    assert {c.measure for c in analysis.contrasts} == {Measure.LENGTH, Measure.FINGERPRINT}
    assert Measure.REGISTER not in {m.measure for m in analysis.arm_means}
    assert any("no judge has read this run" in note for note in analysis.notes)


def test_two_judges_are_never_mixed_and_the_unused_one_is_named(store: Store) -> None:
    plan = make_plan()
    run = collect(store, plan, _by_arm)
    verdicts(store, run, _level, judge="a/judge")
    verdicts(store, run, lambda _: 0.0, judge="b/judge", cells=plan.cells[:10])
    by_default = analyse_run(store, run)
    assert by_default.judge is not None
    assert by_default.judge.judge == "a/judge"
    assert any("b/judge" in note for note in by_default.notes)
    chosen = analyse_run(store, run, judge="b/judge")
    assert sum(d.judged for d in chosen.denominators) == 10
    with pytest.raises(UsageError, match="a/judge, b/judge"):
        analyse_run(store, run, judge="c/judge")


def test_a_changed_rubric_never_uses_the_old_verdicts(store: Store) -> None:
    plan = make_plan()
    run = collect(store, plan, _by_arm)
    verdicts(store, run, lambda _: 0.0, version="register-1/old", cells=plan.cells[:20])
    verdicts(store, run, _level, version="register-1/new")
    assert sum(d.judged for d in analyse_run(store, run).denominators) == 60


def test_anchored_arms_carry_the_caveat_that_an_anchor_teaches_the_test(store: Store) -> None:
    plan = make_plan(arms=(Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR))
    assert any("anchor" in note for note in analyse_run(store, collect(store, plan, _by_arm)).notes)


def test_a_scratch_contrast_says_that_its_interval_leaves_something_out(store: Store) -> None:
    spec = RESTORATION.__class__(
        id="distance", minus_from=Arm.SCRATCH, minus=Arm.SESSION, question="How far?"
    )
    plan = make_plan(arms=(Arm.SCRATCH, Arm.SESSION), contrasts=(spec,))
    found = _one(analyse_run(store, collect(store, plan, _by_arm)), Measure.LENGTH, id="distance")
    assert found.estimate is not None
    assert "without context" in (found.note or "")


def test_examples_show_the_largest_register_difference_first_and_each_question_once(
    store: Store,
) -> None:
    run = collect(store, make_plan(), _by_arm)
    verdicts(store, run, _level)
    examples = analyse_run(store, run).examples
    assert [e.stimulus for e in examples] == ["C01", "C02", "C03", "C04", "C05"]
    assert {e.position for e in examples} == {"P02"}  # where the gap is 2
    first = examples[0]
    assert first.question == "What's your favorite programming language and why?"
    assert list(first.replies) == ["control", "session"]
    assert first.replies["session"].text.startswith("Rust")
    assert first.replies["session"].outcome == "answer"
    assert (first.replies["control"].register, first.replies["session"].register) == (3, 1)
    assert first.replies["session"].reason == "level 1.0"


def test_equal_examples_are_spread_over_the_positions(store: Store) -> None:
    run = collect(store, make_plan(batteries=("identity25",), paraphrases=1), _by_arm)
    verdicts(store, run, lambda cell: 1.0 if cell.arm is Arm.SESSION else 3.0)
    examples = analyse_run(store, run).examples
    assert [e.position for e in examples] == ["P00", "P01", "P02", "P00", "P01", "P02"]
    first_six = list(dict.fromkeys(c.cell.stimulus for c in score_run(store, run)))[:6]
    assert [e.stimulus for e in examples] == first_six  # each once, in plan order


def test_examples_without_a_judge_follow_the_fingerprint_and_stop_at_six(store: Store) -> None:
    run = collect(store, make_plan(batteries=("identity25",), positions=1, paraphrases=1), _by_arm)
    examples = analyse_run(store, run).examples
    assert len(examples) == 6
    assert len({e.stimulus for e in examples}) == 6


def test_the_same_run_gives_the_same_analysis(store: Store) -> None:
    run = collect(store, make_plan(), _fate)
    assert analyse_run(store, run) == analyse_run(store, run)


@pytest.mark.slow
def test_the_time_of_an_analysis_grows_no_faster_than_its_cells(store: Store) -> None:
    """Seven times the cells, to nearly 20,000, beside the same questions in one wording."""
    filler = "The function reads the file line by line and gives back a list of records. " * 6

    def answering(cell: Cell) -> Answer:
        return say("git status" if cell.battery == "stressors" else _by_arm(cell).text + filler)

    def run(paraphrases: int) -> RunInfo:
        plan = make_plan(
            targets=("openai/one", "openai/two"),
            positions=12,
            arms=(Arm.SCRATCH, Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR),
            batteries=("identity25", "stressors"),
            contrasts=(GAP, RESTORATION),
            paraphrases=paraphrases,
        )
        assert len(plan.cells) == 2_784 * paraphrases
        return collect(store, plan, answering)

    def analyse(run: RunInfo) -> None:
        assert len(analyse_run(store, run).denominators) == 16

    assert growth(run, analyse, 1, 7) < 10
