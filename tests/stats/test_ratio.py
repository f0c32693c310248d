from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike

from contextecho.stats import Pairs, geometric_ratio, pair_cells, ratio_of_means

Grid = Callable[[ArrayLike, ArrayLike], Pairs]


def lengths(ratio: float, positions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Reply lengths of a session and a control arm whose means stand in this ratio."""
    rng = np.random.default_rng(seed)
    control = rng.gamma(4.0, 30.0, (positions, 1, 10))
    session = rng.gamma(4.0, 30.0 * ratio, (positions, 1, 10))
    return session, control


def test_the_ratio_is_of_definition_one_means(grid: Grid) -> None:
    found = ratio_of_means(grid([[[100, 300]], [[400, 400]]], [[[100, 100]], [[50, 150]]]))
    assert found.ratio == pytest.approx(300 / 100)
    assert (found.clusters, found.pairs) == (2, 4)


def test_the_interval_of_the_ratio_is_near_that_of_a_jackknife_over_positions(grid: Grid) -> None:
    session, control = lengths(2.0, 24, 5)
    found = ratio_of_means(grid(session, control))
    a, b = session.mean(axis=(1, 2)), control.mean(axis=(1, 2))
    left_out = np.array(
        [np.log(np.delete(a, j).mean() / np.delete(b, j).mean()) for j in range(24)]
    )
    se = math.sqrt(23 / 24 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.interval is not None
    assert math.log(found.interval.high / found.interval.low) / 2 == pytest.approx(
        2.0687 * se, rel=0.02
    )  # t(23)


def test_the_ratio_interval_covers_the_true_ratio_nineteen_times_in_twenty(grid: Grid) -> None:
    held = 0
    for seed in range(400):
        interval = ratio_of_means(grid(*lengths(1.5, 8, seed))).interval
        assert interval is not None
        held += interval.low <= 1.5 <= interval.high
    assert 0.92 <= held / 400 <= 0.98


def test_turning_the_ratio_round_inverts_it(grid: Grid) -> None:
    session, control = lengths(3.0, 6, 1)
    one, other = ratio_of_means(grid(session, control)), ratio_of_means(grid(control, session))
    assert one.ratio is not None
    assert one.interval is not None
    assert other.interval is not None
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert other.interval.low == pytest.approx(1 / one.interval.high)


def test_the_geometric_ratio_undoes_the_logarithm(grid: Grid) -> None:
    session = np.log10([[[100, 1000]], [[100, 1000]], [[1000, 10000]]])
    found = geometric_ratio(grid(session, np.log10(np.full((3, 1, 2), 100))))
    assert found.ratio == pytest.approx(10 ** np.mean([0.5, 0.5, 1.5]))
    assert found.interval is not None
    assert found.interval.low < found.ratio < found.interval.high
    assert found.interval.method == "cluster-t on logs"


def test_one_giant_reply_carries_the_ratio_of_means_but_not_the_geometric_one(grid: Grid) -> None:
    control = np.full((4, 1, 5), 100.0)
    session = control.copy()
    session[0, 0, 0] = 100_000.0
    by_mean = ratio_of_means(grid(session, control)).ratio
    typical = geometric_ratio(grid(np.log10(session), np.log10(control))).ratio
    assert by_mean == pytest.approx(50.95)
    assert typical == pytest.approx(1000 ** (1 / 20))


def test_no_ratio_is_made_of_nothing(grid: Grid) -> None:
    empty = pair_cells([], [], [], [])
    assert (ratio_of_means(empty).ratio, ratio_of_means(empty).note) == (None, "no scored cells")
    assert geometric_ratio(empty).ratio is None
    zero = ratio_of_means(grid([[[1.0]]], [[[0.0]]]))
    assert zero.ratio is None
    assert zero.note is not None
    assert "positive mean" in zero.note


def test_proportional_lengths_claim_no_certainty(grid: Grid) -> None:
    control = np.array([[[100.0]], [[230.0]], [[70.0]]])
    found = ratio_of_means(grid(control * 1.7, control))
    assert found.ratio == pytest.approx(1.7)
    assert found.interval is None
