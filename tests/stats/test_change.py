from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats

from contextecho.stats import Pairs, drift_gap, gap_change, independent_change, pair_cells

Grid = Callable[[ArrayLike, ArrayLike], Pairs]
CONTROL, ONE, OTHER = np.random.default_rng(2).integers(0, 4, (3, 7, 5, 2))


def test_a_change_is_the_paired_t_of_the_position_gaps(grid: Grid) -> None:
    change = gap_change(grid(CONTROL, ONE), grid(CONTROL, OTHER))
    before, after = ((CONTROL - arm).mean(axis=(1, 2)) for arm in (ONE, OTHER))
    expected = scipy_stats.ttest_rel(after, before).confidence_interval(0.95)
    assert change.estimate == pytest.approx((after - before).mean())
    assert change.interval is not None
    assert (change.interval.low, change.interval.high) == pytest.approx(tuple(expected))
    assert (change.clusters, change.pairs, change.note) == (7, 35, None)


def test_a_run_that_lacks_cells_is_compared_on_those_it_has() -> None:
    keys = [(t, p, 0, 0) for t in "ab" for p in ("C01", "C02")]
    before = pair_cells(keys, [3, 3, 3, 3], keys, [3, 2, 3, 1])  # gaps 0 1 0 2
    after = pair_cells(keys, [3, None, 3, 3], keys, [1, 0, 3, 0])  # gaps 2 - 0 3
    change = gap_change(before, after)
    assert change.unit_gaps.tolist() == [2.0, 0.5]
    assert change.note is not None
    assert change.note.startswith("1 cluster x stimulus cells of only one run are left out")


def test_runs_with_nothing_in_common_have_no_change() -> None:
    one = pair_cells([("a", "C01", 0, 0)], [3], [("a", "C01", 0, 0)], [1])
    other = pair_cells([("b", "C01", 0, 0)], [3], [("b", "C01", 0, 0)], [1])
    change = gap_change(one, other)
    assert (change.estimate, change.pairs) == (None, 0)


def test_runs_on_other_sessions_are_compared_by_welch(grid: Grid) -> None:
    before, after = drift_gap(grid(CONTROL, ONE)), drift_gap(grid(CONTROL[:4], OTHER[:4] // 2))
    change = independent_change(before, after, level=0.9)
    expected = scipy_stats.ttest_ind(after.unit_gaps, before.unit_gaps, equal_var=False)
    low, high = expected.confidence_interval(0.9)
    assert change.interval is not None
    assert (change.interval.low, change.interval.high) == pytest.approx((low, high))
    assert change.clusters == (7, 4)


def test_a_run_without_spread_has_no_interval_of_its_change(grid: Grid) -> None:
    before, flat = (
        drift_gap(grid(CONTROL, ONE)),
        drift_gap(grid(np.ones((3, 2, 1)), np.zeros((3, 2, 1)))),
    )
    change = independent_change(before, flat)
    assert change.estimate == pytest.approx(1.0 - (CONTROL - ONE).mean())
    assert change.interval is None
    assert change.note == "a run shows no spread to estimate an interval from"
    nothing = independent_change(before, drift_gap(pair_cells([], [], [], [])))
    assert nothing.estimate is None
