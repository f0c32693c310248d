"""What the providers' accounts say: who answered, and whether the arms were of one length."""

from __future__ import annotations

import msgspec
import pytest

from contextecho.contexts import Arm
from contextecho.models import Answer, Reply, Usage
from contextecho.scoring import Billing, analyse_run
from contextecho.scoring.billing import mismatches
from contextecho.store import Store
from contextecho.studies import Cell
from scoring.runs import collect, make_plan, say

PROMPT = {Arm.CONTROL: 1_050, Arm.SESSION: 1_000}


def _billed(cell: Cell) -> Answer:
    usage = Usage(input=PROMPT.get(cell.arm, 100), output=5)
    return msgspec.structs.replace(say("Fine."), usage=usage, served_model="served-2026-11-01")


def test_the_arms_lengths_are_compared_as_the_target_billed_them(store: Store) -> None:
    analysis = analyse_run(store, collect(store, make_plan(), _billed))
    (account,) = analysis.billing
    assert account.served == ("served-2026-11-01",)
    assert set(account.control_ratio.values()) == {1.05}
    assert any("1.050 times the session" in note for note in analysis.notes)


def test_questions_that_only_one_arm_was_billed_for_do_not_count(store: Store) -> None:
    plan = make_plan()
    first = next(c.stimulus for c in plan.cells)

    def reply(cell: Cell) -> Reply:
        if cell.arm is Arm.SESSION and cell.stimulus == first:
            return say("Fine.")  # without usage
        tokens = 9_999 if cell.arm is Arm.CONTROL and cell.stimulus == first else 1_000
        return msgspec.structs.replace(say("Fine."), usage=Usage(input=tokens, output=5))

    (account,) = analyse_run(store, collect(store, plan, reply)).billing
    assert set(account.control_ratio.values()) == {1.0}


def test_without_usage_there_is_no_ratio_and_no_name(store: Store) -> None:
    analysis = analyse_run(store, collect(store, make_plan(), lambda _: say("Fine.")))
    (account,) = analysis.billing
    assert (account.served, account.control_ratio) == ((), {})
    assert not any("billed" in note for note in analysis.notes)


@pytest.mark.parametrize(("ratio", "says"), [(1.0199, False), (0.97, True)])
def test_two_percent_is_the_line(ratio: float, says: bool) -> None:
    account = Billing(target="a/b", served=(), control_ratio={"P00": 1.0, "P01": ratio})
    assert bool(list(mismatches(account))) is says
