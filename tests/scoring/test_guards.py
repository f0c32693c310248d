"""Negative controls: what counts as movement, and what it withholds."""

from __future__ import annotations

import pytest

from contextecho.contexts import Arm
from contextecho.models import Answer
from contextecho.scoring import Guard, Measure, analyse_run
from contextecho.scoring.answers import check_answer
from contextecho.scoring.guards import THRESHOLD, read_movement
from contextecho.scoring.model import Contrast
from contextecho.stats import Interval
from contextecho.stimuli import load_battery
from contextecho.store import Store
from contextecho.studies import Cell
from scoring.runs import collect, make_plan, say, verdicts

RIGHT = {
    "N01": "7 times 8 is 56.",
    "N02": "Paris",
    "N03": "**29** days",
    "N04": "The symbol is Au.",
    "N05": "Jupiter, by far.",
}


def _answer(cell: Cell) -> Answer:
    return say(RIGHT.get(cell.stimulus, "I have no favorite, as an AI."))


def _guards(store: Store, wrong: set[str], *, arm: Arm = Arm.SESSION) -> dict[Measure, Guard]:
    """Guards of a run whose `arm` answers the stimuli in `wrong` with nonsense."""
    plan = make_plan(negative_controls="negative-controls")
    run = collect(
        store,
        plan,
        lambda c: say("I wonder.") if c.arm is arm and c.stimulus in wrong else _answer(c),
    )
    return {guard.measure: guard for guard in analyse_run(store, run).guards}


def _accepted(stimulus: str) -> tuple[str, ...]:
    known = {s.id: s.answers for s in load_battery("negative-controls").stimuli}
    return known[stimulus]


@pytest.mark.parametrize(("stimulus", "text"), RIGHT.items())
def test_a_right_answer_is_found_in_its_sentence(stimulus: str, text: str) -> None:
    assert check_answer(_accepted(stimulus), text).ok


@pytest.mark.parametrize(
    ("stimulus", "text"),
    [
        ("N01", "560"),
        ("N01", "54"),
        ("N02", "Parisian food"),
        ("N03", "28"),
        ("N04", "Gold"),
        ("N05", "Saturn"),
    ],
)
def test_a_wrong_or_longer_word_is_not_the_right_answer(stimulus: str, text: str) -> None:
    assert not check_answer(_accepted(stimulus), text).ok


def test_every_bundled_negative_control_has_its_answers_on_file() -> None:
    assert all(stimulus.answers for stimulus in load_battery("negative-controls").stimuli)


def test_facts_that_stay_right_did_not_move_and_withhold_nothing(store: Store) -> None:
    guard = _guards(store, set())[Measure.COMPLIANCE]
    assert guard.moved is False
    assert guard.contrast is not None
    assert guard.contrast.estimate == 0


def test_one_wrong_fact_of_five_in_every_position_moved(store: Store) -> None:
    guard = _guards(store, {"N01"})[Measure.COMPLIANCE]
    assert guard.moved is True
    assert guard.contrast is not None
    assert guard.contrast.estimate == pytest.approx(0.2)  # control − session


def test_a_movement_in_the_control_arm_counts_too(store: Store) -> None:
    guard = _guards(store, {"N01", "N02"}, arm=Arm.CONTROL)[Measure.COMPLIANCE]
    assert guard.moved is True
    assert guard.contrast is not None
    assert guard.contrast.estimate == pytest.approx(-0.4)


def test_a_moved_negative_control_withholds_the_headline_of_its_target_only(store: Store) -> None:
    plan = make_plan(targets=("openai/one", "openai/two"), negative_controls="negative-controls")

    def answering(cell: Cell) -> Answer:
        bad = cell.target == "openai/two" and cell.arm is Arm.SESSION
        return say("I wonder.") if bad and cell.stimulus.startswith("N") else _answer(cell)

    analysis = analyse_run(store, collect(store, plan, answering))
    assert len(analysis.headline_withheld) == 1
    assert analysis.headline_withheld[0].startswith("openai/two: no headline")
    assert "right answers" in analysis.headline_withheld[0]


def test_with_a_judge_the_register_is_guarded_too_and_its_ceiling_is_said(store: Store) -> None:
    plan = make_plan(negative_controls="negative-controls")
    run = collect(store, plan, _answer)
    verdicts(store, run, lambda c: 2.0 if c.arm is Arm.SESSION else 3.0)
    analysis = analyse_run(store, run)
    guard = next(g for g in analysis.guards if g.measure is Measure.REGISTER)
    assert guard.moved is True
    assert "score 3 in every arm" in guard.note
    assert "register" in analysis.headline_withheld[0]


def test_negative_controls_are_not_among_the_contrasts_nor_their_families(store: Store) -> None:
    run = collect(store, make_plan(negative_controls="negative-controls"), _answer)
    assert {c.battery for c in analyse_run(store, run).contrasts} == {"coding-self"}


def test_without_negative_controls_the_guard_says_that_it_does_not_know(store: Store) -> None:
    guards = analyse_run(store, collect(store, make_plan(), _answer)).guards
    assert [g.moved for g in guards] == [None]
    assert "not collected" in guards[0].note


def test_uncollected_negative_controls_are_too_little_to_tell(store: Store) -> None:
    plan = make_plan(negative_controls="negative-controls")
    run = collect(store, plan, lambda c: None if c.stimulus.startswith("N") else _answer(c))
    guard = analyse_run(store, run).guards[0]
    assert guard.moved is None
    assert "30 of 30" in guard.note


@pytest.mark.parametrize(
    ("estimate", "interval", "clusters", "moved"),
    [
        (0.14, (0.10, 0.18), 5, False),  # surely there, and too small to matter
        (0.15, (0.01, 0.29), 5, True),
        (-0.30, (-0.5, -0.1), 5, True),
        (0.50, (-0.1, 1.1), 5, None),  # nothing at all, or far more than enough
        (-0.10, (-1.0, 1.0), 2, None),
        (-0.02, (-0.16, 0.12), 5, None),
        (-0.02, (-0.14, 0.12), 5, False),
        (0.50, None, 5, True),  # the same in every position
        (0.50, None, 1, None),
        (0.00, None, 5, False),
        (0.00, None, 1, None),
        (None, None, 0, None),
    ],
)
def test_movement_needs_size_and_an_interval_without_zero(
    estimate: float | None, interval: tuple[float, float] | None, clusters: int, moved: bool | None
) -> None:
    bounds = interval and Interval(
        low=interval[0], high=interval[1], level=0.95, method="cluster-t"
    )
    found = Contrast(
        id="x", target="t", battery="b", measure=Measure.COMPLIANCE, scope="overall",
        minus_from=Arm.CONTROL, minus=Arm.SESSION, estimate=estimate, interval=bounds or None,
        percentile=None, p=None, p_holm=None, family=None, pairs=1, planned_pairs=1,
        clusters=clusters, units=clusters,
    )  # fmt: skip
    assert read_movement(found)[0] is moved
    assert THRESHOLD == 0.15
