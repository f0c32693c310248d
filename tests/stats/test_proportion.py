from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import confint_proportions_2indep

from contextecho.stats import Pairs, drift_gap, newcombe, pair_cells, proportion_gap

Grid = Callable[[ArrayLike, ArrayLike], Pairs]


def test_newcombe_reproduces_his_worked_example() -> None:
    # Newcombe (1998), table II (a): 56/70 and 48/80 give 0.0524 to 0.3339.
    found = newcombe(56, 70, 48, 80)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_newcombe_agrees_with_statsmodels(n_a: int, n_b: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    found = newcombe(a, n_a, b, n_b, level=0.9)
    expected = confint_proportions_2indep(a, n_a, b, n_b, method="newcomb", alpha=0.1)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert -1.0 - 1e-9 <= found.low <= found.high <= 1.0 + 1e-9


def test_clustered_compliance_has_the_cluster_t_interval(grid: Grid) -> None:
    a, b = np.random.default_rng(4).integers(0, 2, (2, 6, 1, 10))
    assert proportion_gap(grid(a, b)).interval == drift_gap(grid(a, b)).interval


def test_the_interval_stays_between_minus_one_and_one(grid: Grid) -> None:
    a, b = np.ones((2, 1, 4)), np.array([[[0, 0, 0, 0]], [[1, 1, 0, 0]]])
    found = proportion_gap(grid(a, b))
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (-1.0, 1.0)


def test_full_compliance_in_both_arms_still_has_a_width(grid: Grid) -> None:
    found = proportion_gap(grid(np.ones((3, 1, 10)), np.ones((3, 1, 10))))
    expected = confint_proportions_2indep(30, 30, 30, 30, method="newcomb")
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(expected)
    assert found.note is not None
    assert "independent" in found.note


def test_one_position_and_one_stressor_get_the_score_interval(grid: Grid) -> None:
    found = proportion_gap(grid([[[1] * 9 + [0]]], [[[1] * 3 + [0] * 7]]))
    assert found.estimate == pytest.approx(0.6)
    assert found.interval == newcombe(9, 10, 3, 10)
    assert found.note is not None
    assert "nothing here reaches beyond it" in found.note


def test_anything_but_zero_and_one_is_refused(grid: Grid) -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        proportion_gap(grid([[[0.5]]], [[[1]]]))
    with pytest.raises(ValueError, match="n > 0"):
        newcombe(0, 0, 1, 2)


def test_no_cells_no_proportion() -> None:
    assert proportion_gap(pair_cells([], [], [], [])).estimate is None
