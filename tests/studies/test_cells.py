from __future__ import annotations

import hashlib
from itertools import product

import msgspec
import pytest

from contextecho.contexts import Arm, canonical_json
from contextecho.store.rows import plan_id
from contextecho.studies import Cell
from contextecho.studies.cells import Cells, Place, Question
from store.plans import make_plan

TARGETS = ("a/one", "b/two")
PLACES = [
    Place("P0", Arm.SESSION, "x"),
    Place("P0", Arm.CONTROL, "y"),
    Place("P1", Arm.SCRATCH, "y"),
]
QUESTIONS = [Question("probes", f"C{n}", wording) for n in range(3) for wording in range(2)]
CELLS = Cells("s", "id", targets=TARGETS, places=PLACES, questions=QUESTIONS, replicates=4)
LISTED = [
    Cell(
        study="s",
        target=target,
        session="id",
        position=position,
        arm=arm,
        battery=battery,
        stimulus=stimulus,
        paraphrase=wording,
        replicate=replicate,
        prefix=prefix,
    )
    for target, (position, arm, prefix), (battery, stimulus, wording), replicate in product(
        TARGETS, PLACES, QUESTIONS, range(4)
    )
]


def test_cells_that_are_made_are_those_that_would_be_listed():
    assert len(CELLS) == 2 * 3 * 6 * 4 == len(LISTED)
    assert list(CELLS) == LISTED
    assert [CELLS[index] for index in range(len(CELLS))] == LISTED
    assert CELLS[-1] == LISTED[-1]
    assert CELLS[5:90:7] == tuple(LISTED[5:90:7])
    assert tuple(LISTED) == CELLS


@pytest.mark.parametrize("index", [144, -145])
def test_there_is_no_cell_beyond_the_last(index):
    with pytest.raises(IndexError):
        CELLS[index]


@pytest.mark.parametrize("order", ["as planned", "scattered"])
def test_cells_of_one_prefix_are_found_wherever_they_stand(order):
    plan = make_plan(targets=TARGETS, positions=3, probes=4)
    if order == "scattered":
        plan = msgspec.structs.replace(plan, cells=(*plan.cells[::2], *plan.cells[1::2]))
    groups = dict(plan.by_prefix("b/two"))
    assert len(groups) == 3 * 2
    for prefix, cells in groups.items():
        listed = [c for c in plan.cells if (c.target, c.prefix) == ("b/two", prefix)]
        assert len(cells) == 4
        assert list(cells) == listed
        assert cells[-1] == listed[-1]
        assert list(cells[1:]) == listed[1:]


def test_a_run_keeps_its_name_however_its_cells_are_held():
    plan = make_plan(positions=3, probes=4)
    identity = {
        "study": plan.study,
        "protocol": plan.protocol,
        "session": plan.session_sha256,
        "batteries": {name: battery.sha256 for name, battery in plan.batteries.items()},
        "decoding": plan.decoding,
        "serving": plan.serving,
        "cells": tuple(plan.cells),
    }
    whole = hashlib.sha256(canonical_json(identity)).hexdigest()[:12]  # as it was made at first
    assert plan_id(plan) == whole
    assert plan_id(msgspec.structs.replace(plan, cells=tuple(plan.cells))) == whole
