"""The instrument on a target whose truth is known: from the command line, and many times over.

The simulated target's expected score is its base less the planted gap in the session
arm; the simulated judge reads it back. Everything between is the real program.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from contextecho.engine import collect, run_in_loop
from contextecho.models import SimulatedJudge, SimulatedModel
from contextecho.scoring import Contrast, Measure, analyse_run, judge_run
from contextecho.sessions import read_session
from contextecho.store import open_store
from contextecho.studies import load_study, make_plan
from e2e.conftest import write_chat
from e2e.ledger import query
from e2e.terminal import Terminal

STUDIES = 60


def probe(terminal: Terminal, gap: float) -> dict[str, Any]:
    """The overall register gap that `probe --json` reports at six positions."""
    target = f"simulated/gap={gap},seed=11"
    axes = ("--positions", "even:6", "--n", "3", "--arms", "control,session")
    words = ("chat.jsonl", "--target", target, "--judge", "simulated/judge", *axes)
    done = terminal.run("probe", *words, "--json", "--quiet")
    assert done.code == 0, done.err
    (found,) = [
        each
        for each in done.json["contrasts"]
        if (each["id"], each["scope"], each["measure"]) == ("gap", "overall", "register")
        and each["battery"] == "coding-self"
    ]
    return dict(found)


@pytest.mark.parametrize("gap", [0.0, 0.8])
def test_the_command_line_recovers_a_planted_gap(terminal: Terminal, chat: str, gap: float) -> None:
    found = probe(terminal, gap)
    assert (found["pairs"], found["planned_pairs"], found["clusters"]) == (90, 90, 6)
    low, high = found["interval"]["low"], found["interval"]["high"]
    assert low <= gap <= high
    # The half-width is t(5) standard errors.
    error = (high - low) / 2 / stats.t.ppf(0.975, 5)
    assert abs(found["estimate"] - gap) < 3 * error
    assert (low <= 0 <= high) == (gap == 0.0)


def test_the_reported_gap_is_the_difference_of_the_stored_verdicts(
    terminal: Terminal, chat: str
) -> None:
    found = probe(terminal, 0.8)
    means = dict(
        query(
            terminal.folder,
            "SELECT cell.arm, avg(verdict.value) FROM cell"
            " JOIN verdict ON verdict.reply_key = cell.key"
            " WHERE battery = 'coding-self' AND verdict.scorer = 'register/simulated/judge'"
            " GROUP BY cell.arm",
        )
    )
    # Nothing is missing, so the mean of paired differences is the difference of means.
    assert found["estimate"] == pytest.approx(means["control"] - means["session"], abs=1e-12)


@pytest.mark.parametrize("lost", ["refusal", "empty", "truncation"])
def test_replies_that_cannot_be_scored_leave_the_denominator_not_the_gap(
    terminal: Terminal, chat: str, lost: str
) -> None:
    target = f"simulated/gap=0.8,seed=5,{lost}=0.1"
    axes = ("--positions", "even:3", "--n", "3", "--arms", "control,session", "--attempts", "1")
    words = ("chat.jsonl", "--target", target, "--judge", "simulated/judge", *axes)
    done = terminal.run("probe", *words, "--json", "--quiet")
    assert done.code == (4 if lost == "empty" else 0)  # an empty answer is asked again next time
    column = {"refusal": "refused", "empty": "empty", "truncation": "truncated"}[lost]
    dropped = 0
    for each in done.json["denominators"]:
        others = {"refused", "empty", "truncated", "failed", "missing"} - {column}
        assert all(each[name] == 0 for name in others)
        assert each["answered"] + each[column] == each["planned"]
        assert each["judged"] + each["unjudged"] == (
            each["answered"] if lost != "empty" else each["judged"]
        )
        dropped += each[column]
    assert dropped > 0


def studies(tmp_path: Path, gap: float, positions: int) -> list[Contrast]:
    """The overall gap of many studies, each with its own draws: one plan, a target a study."""
    session = read_session(write_chat(tmp_path / "chat.jsonl"))
    targets = [f"simulated/gap={gap},seed={seed},position_sd=0.15" for seed in range(STUDIES)]
    plan = make_plan(
        load_study("trajectory"),
        session,
        targets,
        positions=f"even:{positions}",
        arms=["control", "session"],
        batteries=["coding-self"],
        paraphrases=2,
    )
    with open_store(tmp_path / "store") as store:
        run = store.begin_run(plan, "chat.jsonl", {})
        models = {target: SimulatedModel.for_plan(plan, target=target) for target in targets}
        assert run_in_loop(collect(plan, store, run, models), models.values()).complete
        judge = SimulatedJudge()
        judging = run_in_loop(judge_run(store, run, judge, repeat_share=0.0), [judge])
        assert judging.unjudged == judging.invalid == 0
        analysis = analyse_run(store, run)
    found = [
        each
        for each in analysis.contrasts
        if (each.id, each.scope, each.measure, each.battery)
        == ("gap", "overall", Measure.REGISTER, "coding-self")
    ]
    assert len(found) == STUDIES
    return found


@pytest.mark.slow
@pytest.mark.parametrize("positions", [12, 5, 3])
@pytest.mark.parametrize("gap", [0.0, 0.8])
def test_many_studies_are_unbiased_and_their_intervals_cover(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gap: float, positions: int
) -> None:
    found = studies(tmp_path, gap, positions)
    estimates = [each.estimate for each in found if each.estimate is not None]
    assert len(estimates) == STUDIES
    mean = sum(estimates) / STUDIES
    spread = math.sqrt(sum((each - mean) ** 2 for each in estimates) / (STUDIES - 1))
    intervals = [each.interval for each in found if each.interval is not None]
    covered = sum(each.low <= gap <= each.high for each in intervals)
    width = sum(each.high - each.low for each in intervals) / len(intervals)
    excludes_zero = sum(not each.low <= 0 <= each.high for each in intervals)
    with capsys.disabled():
        print(
            f"\n{positions} positions, planted {gap}: mean {mean:.3f}, {covered} of"
            f" {len(intervals)} intervals cover, mean width {width:.2f},"
            f" {excludes_zero} exclude zero"
        )
    assert abs(mean - gap) < 3 * spread / math.sqrt(STUDIES)
    # What 95% coverage would give in all but one of a thousand such tests.
    assert covered >= stats.binom.ppf(0.001, len(intervals), 0.95)
    # Three equal position means, which happens with few whole scores, have no interval.
    assert len(intervals) >= (0.8 if positions == 3 else 0.98) * STUDIES
    if positions == 3:
        assert all(each.note and "only 3 clusters" in each.note for each in found)
        assert all(each.p is None or each.p >= 0.25 for each in found)  # 2 / 2**3 at best
