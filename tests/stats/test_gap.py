from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats
from statsmodels.regression.linear_model import OLS

from contextecho.stats import (
    Method,
    Pairs,
    Unit,
    cluster_mean_interval,
    drift_gap,
    pair_cells,
)
from contextecho.stats.mean_intervals import _WEBB_WEIGHTS
from timing import takes_less_than

Grid = Callable[[ArrayLike, ArrayLike], Pairs]
CONTROL, SESSION = np.random.default_rng(7).integers(0, 4, (2, 8, 5, 3))


def test_the_gap_of_the_papers_panel_is_control_minus_session(grid: Grid) -> None:
    # Appendix B, Haiku 4.5: filler 2.23, claude 1.40, gap +0.83.
    gap = drift_gap(grid(np.full((12, 5, 1), 2.23), np.full((12, 5, 1), 1.40)))
    assert gap.estimate == pytest.approx(0.83)


def test_positions_and_stimuli_weigh_equally_however_many_paraphrases_they_have() -> None:
    # P1: C01 twice (gaps 3, 1), C02 once (gap 0) -> 1.0; P2: C01 once (gap 0) -> 0.
    keys = [("P1", "C01", 0, 0), ("P1", "C01", 1, 0), ("P1", "C02", 0, 0), ("P2", "C01", 0, 0)]
    gap = drift_gap(pair_cells(keys, [3, 3, 2, 1], keys, [0, 2, 2, 1]))
    assert gap.unit_gaps.tolist() == [1.0, 0.0]
    assert gap.estimate == pytest.approx(0.5)
    assert gap.note is not None
    assert "1 cluster x stimulus cells are empty" in gap.note


def test_cluster_t_is_students_t_on_the_position_gaps(grid: Grid) -> None:
    gap = drift_gap(grid(CONTROL, SESSION))
    by_position = (CONTROL - SESSION).mean(axis=(1, 2))
    expected = scipy_stats.ttest_1samp(by_position, 0).confidence_interval(0.95)
    assert gap.interval is not None
    assert (gap.interval.low, gap.interval.high) == pytest.approx((expected.low, expected.high))
    assert (gap.clusters, gap.pairs, gap.unit) == (8, 120, Unit.CLUSTER)


def test_cluster_t_agrees_with_the_cluster_robust_regression_of_statsmodels(grid: Grid) -> None:
    pairs = grid(CONTROL, SESSION)
    fit = OLS(pairs.differences, np.ones(len(pairs))).fit(
        cov_type="cluster", cov_kwds={"groups": pairs.clusters}, use_t=True
    )
    interval = drift_gap(pairs, level=0.9).interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(tuple(fit.conf_int(alpha=0.1)[0]))


def test_percentile_agrees_with_scipys_bootstrap_of_the_position_gaps(grid: Grid) -> None:
    by_position = (CONTROL - SESSION).mean(axis=(1, 2))
    expected = scipy_stats.bootstrap(
        (by_position,), np.mean, n_resamples=20_000, method="percentile", random_state=1
    ).confidence_interval
    interval = drift_gap(grid(CONTROL, SESSION), method="percentile", resamples=20_000).interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_bootstrap_t_agrees_with_the_enumeration_of_all_resamples(grid: Grid) -> None:
    units = np.array([0.0, 0.1, 0.5, 0.6, 1.4])
    drawn = np.array(list(product(units, repeat=5)))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (drawn.mean(axis=1) - units.mean()) / (drawn.std(axis=1, ddof=1) / 5**0.5)
    low, high = np.quantile(t, [0.05, 0.95])
    se = units.std(ddof=1) / 5**0.5
    interval = drift_gap(
        grid(units[:, None, None], np.zeros((5, 1, 1))),
        level=0.9,
        method="bootstrap-t",
        resamples=200_000,
    ).interval
    assert interval is not None
    assert interval.low == pytest.approx(units.mean() - high * se, abs=0.01)
    assert interval.high == pytest.approx(units.mean() - low * se, abs=0.01)


def test_wild_agrees_with_the_enumeration_of_all_webb_weights(grid: Grid) -> None:
    units = np.array([0.0, 0.2, 0.9, 1.0, 1.1])
    weights = np.array(list(product(_WEBB_WEIGHTS, repeat=5)))
    samples = weights * (units - units.mean())
    t = samples.mean(axis=1) / (samples.std(axis=1, ddof=1) / 5**0.5)
    half = np.quantile(np.abs(t), 0.95) * units.std(ddof=1) / 5**0.5
    interval = drift_gap(
        grid(units[:, None, None], np.zeros((5, 1, 1))), method="wild", resamples=200_000
    ).interval
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * half, rel=0.01)


def test_webb_weights_have_mean_zero_and_variance_one() -> None:
    assert _WEBB_WEIGHTS.mean() == pytest.approx(0)
    assert (_WEBB_WEIGHTS**2).mean() == pytest.approx(1)


def test_one_position_is_measured_over_its_stimuli_and_says_so(grid: Grid) -> None:
    gap = drift_gap(grid(CONTROL[:1], SESSION[:1]))
    over_stimuli = (CONTROL[0] - SESSION[0]).mean(axis=1)
    expected = scipy_stats.ttest_1samp(over_stimuli, 0).confidence_interval(0.95)
    assert gap.interval is not None
    assert (gap.interval.low, gap.interval.high) == pytest.approx((expected.low, expected.high))
    assert gap.interval.method == "cluster-t over stimuli"
    assert gap.unit is Unit.STIMULUS
    assert gap.note is not None
    assert "nothing here reaches beyond it" in gap.note


def test_one_stimulus_at_one_position_is_measured_over_its_paraphrases(grid: Grid) -> None:
    gap = drift_gap(grid([[[3, 3, 1]]], [[[0, 1, 1]]]))
    assert gap.unit is Unit.OBSERVATION
    assert gap.estimate == pytest.approx(5 / 3)


def test_three_positions_are_called_few(grid: Grid) -> None:
    note = drift_gap(grid(CONTROL[:3], SESSION[:3])).note
    assert note is not None
    assert "only 3 clusters" in note
    assert drift_gap(grid(CONTROL[:6], SESSION[:6])).note is None


def test_a_single_pair_has_an_estimate_and_no_interval(grid: Grid) -> None:
    gap = drift_gap(grid([[[3]]], [[[1]]]))
    assert (gap.estimate, gap.interval) == (2.0, None)
    assert gap.note is not None
    assert "no spread" in gap.note


def test_no_pairs_give_no_number_but_a_reason() -> None:
    gap = drift_gap(pair_cells([], [], [], []))
    assert (gap.estimate, gap.interval, gap.pairs, gap.clusters) == (None, None, 0, 0)
    assert gap.note == "no scored cells"


@pytest.mark.parametrize("method", ["cluster-t", "percentile", "bootstrap-t", "wild"])
def test_equal_positions_claim_no_certainty(grid: Grid, method: Method) -> None:
    # Gaps of 0.1 + 0.2 - 0.3 in another order: equal but for rounding.
    control = np.array([[0.1, 0.2, -0.3], [0.2, -0.3, 0.1], [-0.3, 0.1, 0.2]])[..., None]
    gap = drift_gap(grid(control, np.zeros_like(control)), method=method)
    assert gap.estimate == pytest.approx(0.0)
    assert gap.interval is None
    assert gap.note is not None
    assert "all 3 units are equal" in gap.note


def test_bootstrap_t_admits_that_three_positions_are_too_few(grid: Grid) -> None:
    gap = drift_gap(grid(CONTROL[:3], SESSION[:3]), method="bootstrap-t")
    assert gap.interval is None
    assert gap.note is not None
    assert "too few" in gap.note


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_outside_0_to_1_is_refused(grid: Grid, level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        drift_gap(grid(CONTROL, SESSION), level=level)


@pytest.mark.parametrize("method", ["percentile", "bootstrap-t", "wild"])
def test_the_same_seed_gives_the_same_interval(grid: Grid, method: Method) -> None:
    pairs = grid(CONTROL, SESSION)
    first, again, other = (
        drift_gap(pairs, method=method, resamples=99, seed=seed).interval for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("method", ["cluster-t", "percentile", "bootstrap-t", "wild"])
def test_ten_thousand_resamples_of_twelve_positions_take_under_a_fifth_of_a_second(
    grid: Grid, method: Method
) -> None:
    pairs = grid(*np.random.default_rng(8).integers(0, 4, (2, 12, 5, 10)))
    drift_gap(pairs, method=method)
    with takes_less_than(0.2):
        drift_gap(pairs, method=method)


def test_an_arm_mean_weighs_positions_equally() -> None:
    found = cluster_mean_interval([3, 3, 3, 0], [("s", "P1")] * 3 + [("s", "P2")])
    assert (found.mean, found.clusters, found.n) == (1.5, 2, 4)
    assert found.interval is not None
    half = 12.706204736 * 1.5  # t(1), and half of |3 - 0|
    assert found.interval.high - 1.5 == pytest.approx(half)


def test_an_arm_mean_without_clusters_is_the_plain_t_interval() -> None:
    values = [3, 1, 2, 2, 0]
    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = cluster_mean_interval(values)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected))


def test_an_arm_mean_refuses_what_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        cluster_mean_interval([1.0, float("nan")])
    with pytest.raises(ValueError, match="1 labels for 2 values"):
        cluster_mean_interval([1.0, 2.0], ["P1"])


tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=5),
    elements=st.integers(0, 3).map(float),
)


@given(tables, st.sampled_from([0.5, 2.0, 10.0]), st.integers(-2, 2))
def test_the_estimate_is_the_nested_mean_and_follows_shift_and_scale(
    control: np.ndarray, factor: float, shift: int
) -> None:
    session = control[::-1, ::-1, ::-1]
    keys = [(t, p, i, 0) for t, p, i in np.ndindex(control.shape)]

    def gap(a: np.ndarray, b: np.ndarray) -> tuple[float, float | None, float | None]:
        pairs = pair_cells(keys, a.ravel().tolist(), keys, b.ravel().tolist())
        found = drift_gap(pairs)
        assert found.estimate is not None
        assert found.interval is not None or found.note is not None
        low_high = (found.interval.low, found.interval.high) if found.interval else (None, None)
        return found.estimate, *low_high

    estimate, low, high = gap(control, session)
    assert estimate == pytest.approx((control - session).mean(axis=2).mean(axis=1).mean())
    moved = gap(control * factor + shift, session * factor)
    assert moved[0] == pytest.approx(estimate * factor + shift)
    if low is not None and high is not None:
        assert low < estimate < high
        assert moved[1:] == pytest.approx((low * factor + shift, high * factor + shift))
    swapped = gap(session, control)
    assert swapped[0] == pytest.approx(-estimate)
