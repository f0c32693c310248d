"""Contrasts: what their p and interval rest on."""

from __future__ import annotations

import msgspec
import pytest

from contextecho.contexts import Arm
from contextecho.engine import estimate_plan
from contextecho.models import Reply
from contextecho.scoring import Measure, analyse_run
from contextecho.sessions import Conditions
from contextecho.store import Store
from contextecho.studies import Cell
from scoring.runs import collect, make_plan, say


@pytest.mark.parametrize(
    ("positions", "scope", "units"),
    [(3, "overall", 3), (3, "position", 5), (1, "overall", 5)],  # the battery has 5 questions
)
def test_units_are_the_positions_or_the_questions_of_one(
    positions: int, scope: str, units: int, store: Store
) -> None:
    plan = make_plan(positions=positions, paraphrases=2)
    run = collect(store, plan, lambda cell: say(f"{cell.stimulus} {cell.arm} {cell.position}"))
    found = [
        c
        for c in analyse_run(store, run).contrasts
        if c.measure is Measure.LENGTH and c.scope.startswith(scope)
    ]
    assert {c.units for c in found} == {units}
    assert all(c.pairs >= 10 for c in found)
    assert all(c.p is not None and c.p >= 2 / 2**units for c in found)


def test_without_an_estimate_there_are_no_units(store: Store) -> None:
    run = collect(store, make_plan(), lambda _: None)
    assert {c.units for c in analyse_run(store, run).contrasts} == {0}


def test_where_conditions_differ_between_positions_each_has_its_own_contrast(store: Store) -> None:
    """Six positions, the last two after an update: the session arm answers shorter only there."""
    plan = make_plan(positions=6, paraphrases=2)
    versions = ["1", "1", "1", "1", "2", "2"]
    moved = tuple(
        msgspec.structs.replace(position, conditions=Conditions(model="m", version=version))
        for position, version in zip(plan.positions, versions, strict=True)
    )
    late = {position.label for position in moved[4:]}

    def answer(cell: Cell) -> Reply:
        short = cell.arm is Arm.SESSION and cell.position in late
        return say("x" * (10 if short else 100))

    run = collect(store, msgspec.structs.replace(plan, positions=moved), answer)
    found = {
        c.scope: (c.estimate, c.pairs, c.clusters)
        for c in analyse_run(store, run).contrasts
        if c.measure is Measure.LENGTH and c.scope.startswith("conditions:")
    }
    # 5 questions in 2 wordings at each position; 100 over 10 characters is a ratio of ten.
    assert found == {
        "conditions:version 1": (pytest.approx(1.0), 40, 4),
        "conditions:version 2": (pytest.approx(10.0), 20, 2),
    }


def test_equal_conditions_everywhere_make_no_further_contrast(store: Store) -> None:
    run = collect(store, make_plan(), lambda cell: say("yes"))
    assert not [c for c in analyse_run(store, run).contrasts if c.scope.startswith("conditions:")]


def test_a_position_at_which_both_arms_are_shown_the_same_is_not_counted(store: Store) -> None:
    """Four positions; at the first, the control is the session's own context."""
    plan = make_plan(positions=4, paraphrases=2)
    first = plan.positions[0].label
    shown = {c.arm: c.prefix for c in plan.cells if c.position == first}
    cells = tuple(
        msgspec.structs.replace(c, prefix=shown[Arm.SESSION])
        if (c.position, c.arm) == (first, Arm.CONTROL)
        else c
        for c in plan.cells
    )

    def answer(cell: Cell) -> Reply:
        short = cell.arm is Arm.SESSION and cell.position != first
        return say("x" * (10 if short else 100))

    run = collect(store, msgspec.structs.replace(plan, cells=cells), answer)
    overall = next(
        c
        for c in analyse_run(store, run).contrasts
        if (c.measure, c.scope) == (Measure.LENGTH, "overall")
    )
    # 5 questions in 2 wordings at each of the three other positions; a ratio of ten at each.
    assert (overall.estimate, overall.pairs, overall.planned_pairs) == (pytest.approx(10), 30, 30)
    assert f"both arms are shown the same at {first}: not counted" in (overall.note or "")
    there = next(c for c in analyse_run(store, run).contrasts if c.scope == f"position:{first}")
    assert (there.estimate, there.note) == (None, "both arms are shown the same")


def test_positions_that_show_the_same_again_are_no_further_evidence(store: Store) -> None:
    plan = make_plan(positions=4, paraphrases=2)
    first, second = plan.positions[0].label, plan.positions[1].label
    shown = {c.arm: c.prefix for c in plan.cells if c.position == first}
    cells = tuple(
        msgspec.structs.replace(c, prefix=shown[c.arm]) if c.position == second else c
        for c in plan.cells
    )
    plan = msgspec.structs.replace(plan, cells=cells)
    run = collect(store, plan, lambda cell: say("x" * (10 if cell.arm is Arm.SESSION else 100)))
    overall = next(
        c
        for c in analyse_run(store, run).contrasts
        if (c.measure, c.scope) == (Measure.LENGTH, "overall")
    )
    # Three different positions of 5 questions in 2 wordings, not four.
    assert (overall.pairs, overall.planned_pairs, overall.clusters) == (30, 30, 3)
    assert f"shown what was shown before at {second}: counted once" in (overall.note or "")
    assert estimate_plan(plan).positions == 3
