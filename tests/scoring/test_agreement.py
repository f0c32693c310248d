"""Judges on one run against each other: every coefficient from an independent source."""

from __future__ import annotations

from itertools import permutations

import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from contextecho.scoring import analyse_run
from contextecho.store import RunInfo, Store
from contextecho.studies import Cell
from scoring.runs import collect, make_plan, say, verdicts


def _first(cell: Cell) -> float:
    return float((int(cell.stimulus[-1]) + cell.paraphrase) % 4)


def _second(cell: Cell) -> float | None:
    if (cell.stimulus, cell.position) == ("C03", "P01"):
        return None  # unreadable
    return min(3.0, _first(cell) + (cell.position == "P02") + 2 * (cell.stimulus == "C04"))


def _run(store: Store) -> RunInfo:
    return collect(
        store,
        make_plan(),
        lambda c: say(f"To {c.stimulus} {c.paraphrase} at {c.position} in {c.arm}."),
    )


def _ordinal_alpha(x: list[int], y: list[int]) -> float:
    """Krippendorff's alpha by its definition, over all ordered pairs of values."""
    values = x + y
    count = {level: values.count(level) for level in range(4)}

    def apart(a: int, b: int) -> float:
        low, high = sorted((a, b))
        between = sum(count[level] for level in range(low, high + 1))
        return (between - (count[a] + count[b]) / 2) ** 2

    observed = sum(apart(a, b) for a, b in zip(x, y, strict=True)) / len(x)
    expected = [apart(a, b) for a, b in permutations(values, 2)]
    return 1 - observed / (sum(expected) / len(expected))


def _gwet_ac1(x: list[int], y: list[int]) -> float:
    share = [(x.count(level) + y.count(level)) / (2 * len(x)) for level in range(4)]
    chance = sum(p * (1 - p) for p in share) / 3
    return (sum(a == b for a, b in zip(x, y, strict=True)) / len(x) - chance) / (1 - chance)


def test_two_judges_are_compared_on_the_replies_that_both_read(store: Store) -> None:
    run = _run(store)
    cells = [cell for cell, _ in store.run_cells(run.id)]
    verdicts(store, run, _first, judge="a/judge")
    read = [cell for cell in cells if cell.stimulus != "C05"]
    verdicts(store, run, _second, judge="b/judge", cells=read)

    (found,) = analyse_run(store, run).agreements
    pairs = [(int(_first(c)), int(level)) for c in read if (level := _second(c)) is not None]
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    assert len(read) == 4 * 2 * 3 * 2
    assert (found.judges, found.battery) == (("a/judge", "b/judge"), "coding-self")
    scores = found.scores
    assert (scores.n, scores.dropped) == (len(pairs), 4)  # C03 at P01: 2 wordings x 2 arms
    assert scores.exact == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert scores.within_one == pytest.approx(sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs))
    assert scores.kappa == pytest.approx(cohen_kappa_score(x, y))
    assert scores.kappa_quadratic == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    assert scores.ac1 == pytest.approx(_gwet_ac1(x, y))
    assert scores.spearman == pytest.approx(spearmanr(x, y).statistic)
    assert scores.alpha == pytest.approx(_ordinal_alpha(x, y))


def test_each_pair_of_judges_is_compared_and_one_judge_with_nobody(store: Store) -> None:
    run = _run(store)
    verdicts(store, run, _first, judge="a/judge")
    assert analyse_run(store, run).agreements == ()
    for judge in ("b/judge", "c/judge"):
        verdicts(store, run, _second, judge=judge)
    found = analyse_run(store, run, judge="c/judge").agreements
    pairs = [("a/judge", "b/judge"), ("a/judge", "c/judge"), ("b/judge", "c/judge")]
    assert [pair.judges for pair in found] == pairs
    assert found[2].scores.exact == 1.0


def test_one_judge_under_two_rubrics_is_two_judges(store: Store) -> None:
    run = _run(store)
    for version in ("register-1/old", "register-1/new"):
        verdicts(store, run, _first, version=version)
    (found,) = analyse_run(store, run).agreements
    assert found.judges == ("a/judge", "a/judge")
    assert sorted(found.versions) == ["register-1/new", "register-1/old"]


def test_judges_who_read_no_reply_in_common_are_not_compared(store: Store) -> None:
    run = _run(store)
    cells = [cell for cell, _ in store.run_cells(run.id)]
    verdicts(store, run, _first, judge="a/judge", cells=cells[:30])
    verdicts(store, run, _first, judge="b/judge", cells=cells[30:])
    assert analyse_run(store, run).agreements == ()


def test_a_judge_that_could_never_be_read_agrees_on_nothing_and_the_reason_is_there(
    store: Store,
) -> None:
    run = _run(store)
    verdicts(store, run, _first, judge="a/judge")
    verdicts(store, run, lambda _: None, judge="b/judge")
    (found,) = analyse_run(store, run).agreements
    assert (found.scores.n, found.scores.dropped, found.scores.kappa) == (0, 60, None)
    assert found.scores.undefined["kappa"] == "no item was scored by both"


def test_plain_facts_do_not_lift_the_agreement_on_probes(store: Store) -> None:
    plan = make_plan(negative_controls="negative-controls")
    run = collect(store, plan, lambda c: say(f"{c.stimulus} {c.paraphrase} {c.position} {c.arm}"))
    for judge, level in (("a/judge", 1.0), ("b/judge", 0.0)):
        verdicts(
            store,
            run,
            lambda c, level=level: 3.0 if c.battery == "negative-controls" else level,
            judge=judge,
        )
    found = {pair.battery: pair.scores.exact for pair in analyse_run(store, run).agreements}
    assert found == {"coding-self": 0.0, "negative-controls": 1.0}
