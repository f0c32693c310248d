from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from statsmodels.stats.weightstats import DescrStatsW

from contextecho.stats import Pairs, drift_gap, equivalence

Grid = Callable[[ArrayLike, ArrayLike], Pairs]
UNITS = np.array([0.1, -0.2, 0.15, 0.0, 0.3, -0.1, 0.05, 0.2])


def gap_of(grid: Grid, units: np.ndarray) -> Pairs:
    table = units[:, None, None]
    return grid(table, np.zeros_like(table))


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_p_is_that_of_statsmodels_two_one_sided_tests(grid: Grid, margin: float, sign: int) -> None:
    expected, _, _ = DescrStatsW(sign * UNITS).ttost_mean(-margin, margin)
    found = equivalence(drift_gap(gap_of(grid, sign * UNITS)), margin)
    assert found.p == pytest.approx(float(expected))


@pytest.mark.parametrize("alpha", [0.025, 0.05])
def test_equivalent_means_that_the_interval_lies_within(grid: Grid, alpha: float) -> None:
    gap = drift_gap(gap_of(grid, UNITS))
    found = equivalence(gap, 0.3, alpha=alpha)
    assert found.interval is not None
    low, high = DescrStatsW(UNITS).tconfint_mean(alpha=2 * alpha)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))
    assert found.interval.level == 1 - 2 * alpha
    reach = max(abs(low), abs(high))
    assert equivalence(gap, reach * 1.001, alpha=alpha).equivalent
    assert not equivalence(gap, reach * 0.999, alpha=alpha).equivalent


def test_by_default_the_interval_is_the_one_that_stands_beside_the_gap(grid: Grid) -> None:
    gap = drift_gap(gap_of(grid, UNITS))
    assert equivalence(gap, 0.3).interval == gap.interval


def test_little_data_never_shows_that_nothing_happened(grid: Grid) -> None:
    found = equivalence(drift_gap(gap_of(grid, np.array([0.0, 0.1, -0.3]))), 0.3)
    assert not found.equivalent
    assert found.note is not None
    assert "only 3 clusters" in found.note


def test_positions_that_are_all_equal_show_nothing(grid: Grid) -> None:
    found = equivalence(drift_gap(gap_of(grid, np.zeros(6))), 0.3)
    assert (found.p, found.interval, found.equivalent) == (None, None, False)
    assert found.note is not None
    assert "no spread" in found.note


@pytest.mark.parametrize(("margin", "alpha"), [(0.0, 0.05), (-1.0, 0.05), (0.3, 0.5)])
def test_a_margin_that_is_none_is_refused(grid: Grid, margin: float, alpha: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence(drift_gap(gap_of(grid, UNITS)), margin, alpha=alpha)
