from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from contextecho.stats import (
    Pairs,
    drift_gap,
    newcombe,
    newcombe_paired,
    pair_cells,
    proportion_gap,
    proportion_mean,
)

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


def test_clustered_compliance_combines_the_arms_intervals_as_newcombe_does(grid: Grid) -> None:
    a, b = np.random.default_rng(4).integers(0, 2, (2, 6, 1, 10))
    where = np.repeat(np.arange(6), 10)
    arms = [proportion_mean(arm.ravel(), where) for arm in (a, b)]
    (p, lp, up), (q, lq, uq) = (
        (arm.mean, arm.interval.low, arm.interval.high)
        for arm in arms
        if arm.mean is not None and arm.interval is not None
    )
    phi = np.corrcoef(a.mean(axis=(1, 2)), b.mean(axis=(1, 2)))[0, 1]
    below = ((p - lp) ** 2 - 2 * phi * (p - lp) * (uq - q) + (uq - q) ** 2) ** 0.5
    above = ((up - p) ** 2 - 2 * phi * (up - p) * (q - lq) + (q - lq) ** 2) ** 0.5
    found = proportion_gap(grid(a, b)).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((p - q - below, p - q + above))
    assert found.method == "cluster-newcombe"


def test_many_positions_have_nearly_the_t_interval(grid: Grid) -> None:
    draw = np.random.default_rng(6)
    a, b = draw.random((2, 200, 1, 10)) < np.array([0.6, 0.4])[:, None, None, None]
    score = proportion_gap(grid(a, b)).interval
    student = drift_gap(grid(a.astype(float), b.astype(float))).interval
    assert score is not None
    assert student is not None
    assert (score.low, score.high) == pytest.approx((student.low, student.high), abs=0.002)


def test_the_interval_stays_between_minus_one_and_one(grid: Grid) -> None:
    found = proportion_gap(grid(np.ones((2, 1, 4)), np.zeros((2, 1, 4))))
    assert found.estimate == 1.0
    assert found.interval is not None
    assert found.interval.low < found.interval.high == 1.0


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
    assert found.interval == newcombe_paired(3, 6, 0, 1)
    assert found.note is not None
    assert "nothing here reaches beyond it" in found.note


def test_anything_but_zero_and_one_is_refused(grid: Grid) -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        proportion_gap(grid([[[0.5]]], [[[1]]]))
    with pytest.raises(ValueError, match="n > 0"):
        newcombe(0, 0, 1, 2)


def test_no_cells_no_proportion() -> None:
    assert proportion_gap(pair_cells([], [], [], [])).estimate is None


@given(st.integers(1, 60), st.data())
def test_the_rate_of_one_cluster_has_wilsons_interval(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    found = proportion_mean([1.0] * successes + [0.0] * (n - successes), level=0.9)
    expected = proportion_confint(successes, n, alpha=0.1, method="wilson")
    assert found.mean == pytest.approx(successes / n)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=1e-9)
    assert found.interval.method == "wilson"


def test_the_clustered_limits_lie_where_the_rate_is_t_standard_errors_away() -> None:
    # Wilson's limits solve |rate - p| = t sqrt(p (1 - p) / n): here n from the design effect.
    cells = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    shares = cells.mean(axis=1)
    rate, variance = shares.mean(), shares.var(ddof=1) / 4
    n = rate * (1 - rate) / variance
    assert n < 16  # positions differ more than independent cells would
    found = proportion_mean(cells.ravel(), np.repeat(np.arange(4), 4))
    assert found.mean == pytest.approx(rate)
    assert found.interval is not None
    for limit in (found.interval.low, found.interval.high):
        distance = scipy_stats.t.ppf(0.975, 3) * (limit * (1 - limit) / n) ** 0.5
        assert abs(rate - limit) == pytest.approx(distance)
    assert found.interval.method == "cluster-wilson"


@pytest.mark.parametrize(("k", "m"), [(2, 10), (3, 10), (12, 4)])
def test_full_compliance_everywhere_has_the_closed_form_of_wilson_at_one(k: int, m: int) -> None:
    found = proportion_mean(np.ones(k * m), np.repeat(np.arange(k), m))
    t = scipy_stats.t.ppf(0.975, k - 1)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((k * m / (k * m + t**2), 1.0))


def test_positions_that_happen_to_agree_do_not_make_more_of_the_cells_than_there_are() -> None:
    # Half of the cells of every position: no spread, yet twelve cells are twelve cells.
    found = proportion_mean([1, 1, 0, 0] * 3, [0] * 4 + [1] * 4 + [2] * 4)
    t = scipy_stats.t.ppf(0.975, 2)
    half = t * (0.25 / 12 + t**2 / (4 * 144)) ** 0.5 / (1 + t**2 / 12)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_two_kept_and_one_broken_position_stay_a_share() -> None:
    found = proportion_mean([1, 1, 0], ["P0", "P1", "P2"])  # Student's t: -77 % to 210 %
    assert found.mean == pytest.approx(2 / 3)
    assert found.interval is not None
    assert 0.0 < found.interval.low < 0.1
    assert 0.9 < found.interval.high < 1.0
    assert found.note is not None
    assert "only 3 clusters" in found.note


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans()), min_size=1),
    st.sampled_from([0.5, 0.95, 0.999]),
)
def test_a_rate_and_its_interval_never_leave_zero_to_one(
    cells: list[tuple[int, int, bool]], level: float
) -> None:
    clusters, stimuli, kept = zip(*cells, strict=True)
    found = proportion_mean([float(each) for each in kept], clusters, stimuli=stimuli, level=level)
    assert found.mean is not None
    assert found.interval is not None
    assert 0.0 <= found.interval.low <= found.mean <= found.interval.high <= 1.0
    assert found.interval.low < found.interval.high


# Beta-binomial positions: their intraclass correlation is what `rho` says.
@pytest.mark.parametrize("rho", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("k", "m"), [(3, 4), (5, 4), (12, 10)])
def test_the_interval_of_a_rate_covers_where_students_t_does_not(
    rate: float, rho: float, k: int, m: int
) -> None:
    rng = np.random.default_rng(42)
    spread = (1 - rho) / rho if rho else np.inf
    t = scipy_stats.t.ppf(0.975, k - 1)
    held = students = 0
    for _ in range(400):
        shares = rng.beta(rate * spread, (1 - rate) * spread, k) if rho else np.full(k, rate)
        cells = (rng.random((k, m)) < shares[:, None]).astype(float)
        found = proportion_mean(cells.ravel(), np.repeat(np.arange(k), m)).interval
        assert found is not None
        held += found.low <= rate <= found.high
        means = cells.mean(axis=1)
        half = t * means.std(ddof=1) / k**0.5
        students += abs(means.mean() - rate) <= half
    # Three standard errors below the coverage in docs/statistics.md: 94 %, and 90 % where
    # few positions break a rate near 1.
    assert held / 400 >= (0.855 if (rate, rho, k) == (0.95, 0.3, 12) else 0.91)
    if rate == 0.95 and k < 12:
        assert students / 400 < 0.75


def test_a_rate_without_cells_or_of_anything_but_zero_and_one() -> None:
    assert proportion_mean([]).note == "no scored cells"
    with pytest.raises(ValueError, match="0 or 1"):
        proportion_mean([0.5])
    with pytest.raises(ValueError, match="level"):
        proportion_mean([1.0], level=95)
