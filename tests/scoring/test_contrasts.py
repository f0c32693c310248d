"""Contrasts: what their p and interval rest on."""

from __future__ import annotations

import pytest

from contextecho.scoring import Measure, analyse_run
from contextecho.store import Store
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
