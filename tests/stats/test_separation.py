from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import roc_auc_score

from contextecho.stats import auc, auc_by_chance

scores = st.lists(st.integers(0, 6), min_size=1, max_size=25)


@given(scores, scores)
def test_auc_agrees_with_sklearn_ties_counted_half(high: list[int], low: list[int]) -> None:
    expected = roc_auc_score([1] * len(high) + [0] * len(low), high + low)
    found = auc(high, low)
    assert found.auc == pytest.approx(expected)
    if found.interval is not None:
        assert 0.0 < found.interval.low < expected < found.interval.high < 1.0
    else:
        assert found.note is not None


@given(scores, scores)
def test_exchanging_the_groups_mirrors_everything(high: list[int], low: list[int]) -> None:
    one, other = auc(high, low), auc(low, high)
    assert one.auc is not None
    assert other.auc == pytest.approx(1 - one.auc)
    if one.interval is not None:
        assert other.interval is not None
        assert other.interval.low == pytest.approx(1 - one.interval.high)


def test_unclustered_interval_is_delongs_on_the_logit() -> None:
    rng = np.random.default_rng(2)
    high, low = rng.normal(1.0, 1.0, 40).round(1), rng.normal(0.0, 1.0, 50).round(1)
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)  # DeLong's kernel, (m, n)
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 50
    logit, slope = np.log(area / (1 - area)), 1 / (area * (1 - area))
    half = scipy_stats.t.ppf(0.975, 89) * slope * variance**0.5
    found = auc(high, low)
    assert found.interval is not None
    assert found.interval.method == "delong"
    assert found.interval.low == pytest.approx(1 / (1 + np.exp(half - logit)))
    assert found.interval.high == pytest.approx(1 / (1 + np.exp(-half - logit)))


def test_every_score_its_own_cluster_is_the_unclustered_case() -> None:
    high, low = [3, 4, 5, 2, 6], [1, 2, 3, 0]
    alone = auc(high, low)
    clustered = auc(high, low, clusters_high=list(range(5)), clusters_low=list(range(5, 9)))
    assert alone.interval is not None
    assert clustered.interval is not None
    assert clustered.interval.low == pytest.approx(alone.interval.low)


def positions(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (count, 10) of two arms at shared positions, which move both arms alike."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(0.0, 0.7, (count, 1))
    own = rng.normal(0.0, 0.5, (2, count, 1))
    high, low = shared + own + rng.normal(0.0, 1.0, (2, count, 10))
    return high + 1.0, low, np.repeat(np.arange(count), 10)


@pytest.mark.parametrize(("count", "at_least"), [(3, 0.95), (5, 0.95), (12, 0.93)])
def test_clustered_interval_covers_the_true_auc_nineteen_times_in_twenty(
    count: int, at_least: float
) -> None:
    # High minus low is normal with mean 1 and variance 2 (0.7^2 + 0.5^2 + 1), positions pooled.
    truth = scipy_stats.norm.cdf(1.0 / (2 * (0.49 + 0.25 + 1.0)) ** 0.5)
    held = naive = 0
    for seed in range(400):
        high, low, where = positions(count, seed)
        found = auc(high.ravel(), low.ravel(), clusters_high=where, clusters_low=where).interval
        independent = auc(high.ravel(), low.ravel()).interval
        assert found is not None
        assert independent is not None
        held += found.low <= truth <= found.high
        naive += independent.low <= truth <= independent.high
    assert held / 400 >= at_least
    assert naive < held  # positions ignored: too narrow


def test_positions_whose_sums_cancel_get_the_interval_of_independent_scores() -> None:
    # 5 replies an arm at 3 positions, where the arms' placements cancel in each.
    high, low = [1, 4, 5, 8, 9] * 3, [2, 3, 6, 7, 10] * 3
    where = [position for position in "ABC" for _ in range(5)]
    found = auc(high, low, clusters_high=where, clusters_low=where)
    wins = np.array([[float(x > y) for y in low] for x in high])
    area = wins.mean()
    se = (wins.mean(axis=1).var(ddof=1) / 15 + wins.mean(axis=0).var(ddof=1) / 15) ** 0.5
    half = scipy_stats.t.ppf(0.975, 2) * se / (area * (1 - area))
    assert found.auc == pytest.approx(area)
    assert found.interval is not None
    assert found.interval.method == "delong"
    expected = 1 / (1 + np.exp(half - np.log(area / (1 - area))))
    assert found.interval.low == pytest.approx(expected)
    assert found.note is not None
    assert "only 3 clusters" in found.note


def test_scores_that_go_with_their_position_get_the_clustered_interval() -> None:
    high, low = [0] * 5 + [4] * 5 + [9] * 5, [1] * 5 + [3] * 5 + [2] * 5
    where = [position for position in "ABC" for _ in range(5)]
    found = auc(high, low, clusters_high=where, clusters_low=where)
    assert found.interval is not None
    assert found.interval.method == "obuchowski"


def test_two_positions_have_an_auc_and_no_interval() -> None:
    high, low, where = positions(2, seed=1)
    found = auc(high.ravel(), low.ravel(), clusters_high=where, clusters_low=where)
    assert found.auc is not None
    assert (found.interval, found.note) == (None, "no interval below 3 clusters")


@pytest.mark.parametrize("seed", range(3))
def test_the_auc_by_chance_is_the_mean_over_all_swaps_of_whole_positions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [(3, 2), (4, 5), (1, 3), (2, 2)]
    parts = [[rng.integers(0, 8, size) for size in both] for both in sizes]
    areas = []
    for swaps in product([0, 1], repeat=4):
        high = np.concatenate([both[s] for both, s in zip(parts, swaps, strict=True)])
        low = np.concatenate([both[1 - s] for both, s in zip(parts, swaps, strict=True)])
        labels = [1] * len(high) + [0] * len(low)
        area = roc_auc_score(labels, np.concatenate([high, low]))
        areas.append(max(area, 1 - area))
    found = auc_by_chance(
        np.concatenate([both[0] for both in parts]),
        np.concatenate([both[1] for both in parts]),
        clusters_high=np.repeat(np.arange(4), [both[0] for both in sizes]),
        clusters_low=np.repeat(np.arange(4), [both[1] for both in sizes]),
    )
    assert found == pytest.approx(np.mean(areas))


def test_an_axis_turned_to_the_first_group_leans_above_a_half_by_what_chance_says() -> None:
    turned, chance = [], []
    for seed in range(400):
        high, low, where = positions(6, seed)
        found = auc(high.ravel() - 1.0, low.ravel()).auc  # the arms do not differ
        assert found is not None
        turned.append(max(found, 1 - found))
        by_chance = auc_by_chance(
            high.ravel() - 1.0, low.ravel(), clusters_high=where, clusters_low=where
        )
        assert by_chance is not None
        chance.append(by_chance)
    error = np.std(turned) / 400**0.5
    assert np.mean(turned) - 0.5 > 5 * error  # the lean is real
    assert abs(np.mean(turned) - np.mean(chance)) < 3 * error


def test_many_positions_are_swapped_at_random_and_few_not_at_all() -> None:
    high, low, where = positions(20, seed=0)
    groups = {"clusters_high": where, "clusters_low": where}
    sampled = auc_by_chance(high.ravel(), low.ravel(), **groups)
    assert sampled is not None
    assert 0.5 < sampled < 0.6
    assert sampled == auc_by_chance(high.ravel(), low.ravel(), **groups)
    assert auc_by_chance([1, 2], [3], clusters_high=["A", "B"], clusters_low=["A"]) is None
    assert auc_by_chance([1, 2, 3], [], clusters_high=["A", "B", "C"], clusters_low=[]) is None


def test_complete_separation_has_no_interval() -> None:
    found = auc([5, 6, 7], [1, 2, 3])
    assert (found.auc, found.interval) == (1.0, None)
    assert found.note is not None


def test_one_shared_cluster_has_no_interval() -> None:
    found = auc([5, 1], [3, 2], clusters_high=["P1", "P1"], clusters_low=["P1", "P1"])
    assert found.interval is None


def test_a_group_without_scores_has_no_auc() -> None:
    found = auc([], [1, 2])
    assert (found.auc, found.n_high, found.n_low) == (None, 0, 2)
    assert found.note is not None


def test_clusters_of_one_group_only_are_refused() -> None:
    with pytest.raises(ValueError, match="both groups"):
        auc([1], [2], clusters_high=["P1"])
