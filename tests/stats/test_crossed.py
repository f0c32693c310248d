from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats

from contextecho.stats import Pairs, crossed_gap, drift_gap, mixed_mean, pair_cells
from contextecho.stats.crossed import crossed_variance

Grid = Callable[[ArrayLike, ArrayLike], Pairs]
rng = np.random.default_rng(23)
GAPS = (
    0.5
    + rng.normal(0, 0.5, (9, 1, 1))
    + rng.normal(0, 0.4, (1, 5, 1))
    + rng.normal(0, 0.6, (9, 5, 2))
)


def test_the_variance_is_that_of_the_mean_squares_by_hand(grid: Grid) -> None:
    # A 3 x 2 table: MS of rows 49/6 (2 df), of columns 6 (1 df), of the rest 0.5 (2 df).
    table = np.array([[1.0, 4.0], [2.0, 3.0], [5.0, 7.0]])
    a, b, e = 49 / 6, 6.0, 0.5
    variance, df = (a + b - e) / 6, (a + b - e) ** 2 / (a**2 / 2 + b**2 / 1 + e**2 / 2)
    half = scipy_stats.t.ppf(0.975, df) * variance**0.5
    found = crossed_gap(grid(table[..., None], np.zeros((3, 2, 1))))
    assert found.estimate == pytest.approx(22 / 6)
    assert found.df == pytest.approx(df)
    assert found.interval is not None
    assert found.interval.high - 22 / 6 == pytest.approx(half)


@settings(max_examples=60, derandomize=True)  # one is a search, which ends near the summit
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6),
        elements=st.integers(-6, 6).map(lambda n: n / 2),
    )
)
def test_a_complete_table_gives_what_reml_gives(table: np.ndarray) -> None:
    """But for additive tables, which leave no residual: their likelihood has no maximum."""
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    assume(np.abs(table - rows - columns + table.mean()).max() > 1e-9)
    where, what = np.indices(table.shape).reshape(2, -1)
    reml = mixed_mean(table.ravel(), {"position": where, "probe": what})
    assert reml.interval is not None
    variance, df = (float(each[0]) for each in crossed_variance(table[None]))
    half = (reml.interval.high - reml.interval.low) / 2
    assert reml.df is not None
    se = half / scipy_stats.t.ppf(0.975, reml.df)
    assert se**2 == pytest.approx(variance, rel=1e-2)
    near_zero = any(0.0 < c < 1e-2 for c in reml.components.values())
    assert near_zero or reml.df == pytest.approx(df, rel=5e-2)


def test_it_is_wider_than_the_interval_of_the_battery_alone(grid: Grid) -> None:
    pairs = grid(GAPS, np.zeros_like(GAPS))
    crossed, fixed = crossed_gap(pairs), drift_gap(pairs)
    assert crossed.estimate == pytest.approx(fixed.estimate)
    assert crossed.interval is not None
    assert fixed.interval is not None
    assert crossed.interval.low < fixed.interval.low
    assert crossed.interval.high > fixed.interval.high


def test_empty_cells_are_left_to_reml() -> None:
    keys = [(t, p, 0, 0) for t, p in np.ndindex(9, 5)]
    values = [None if key[:2] in {(0, 0), (4, 3)} else float(GAPS[key[:3]]) for key in keys]
    found = crossed_gap(pair_cells(keys, values, keys, [0.0] * 45))
    kept = [(key, value) for key, value in zip(keys, values, strict=True) if value is not None]
    reml = mixed_mean(
        [value for _, value in kept],
        {"position": [key[0] for key, _ in kept], "probe": [key[1] for key, _ in kept]},
    )
    assert found.interval is not None
    assert reml.interval is not None
    assert found.interval.low == pytest.approx(reml.interval.low, rel=1e-4)
    assert found.interval.high == pytest.approx(reml.interval.high, rel=1e-4)
    assert found.interval.method == "reml"
    assert (found.positions, found.probes) == (9, 5)


@pytest.mark.parametrize("shape", [(1, 5, 2), (5, 1, 2)])
def test_one_position_or_one_probe_is_no_crossed_design(
    grid: Grid, shape: tuple[int, int, int]
) -> None:
    found = crossed_gap(grid(np.ones(shape), np.zeros(shape)))
    assert found.interval is None
    assert found.note is not None
    assert "needs two of each" in found.note


def test_cells_that_are_all_equal_claim_no_certainty(grid: Grid) -> None:
    found = crossed_gap(grid(np.ones((4, 5, 1)), np.zeros((4, 5, 1))))
    assert (found.estimate, found.interval) == (1.0, None)
    assert found.note == "the cells show no variation"
