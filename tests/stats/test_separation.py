from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import roc_auc_score

from contextecho.stats import auc

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


def test_clustered_interval_covers_the_true_auc_nineteen_times_in_twenty() -> None:
    # High minus low is normal with mean 1 and variance 2 (0.7^2 + 0.5^2 + 1), positions pooled.
    truth = scipy_stats.norm.cdf(1.0 / (2 * (0.49 + 0.25 + 1.0)) ** 0.5)
    held = naive = 0
    for seed in range(400):
        high, low, where = positions(12, seed)
        found = auc(high.ravel(), low.ravel(), clusters_high=where, clusters_low=where).interval
        independent = auc(high.ravel(), low.ravel()).interval
        assert found is not None
        assert independent is not None
        held += found.low <= truth <= found.high
        naive += independent.low <= truth <= independent.high
    assert 0.92 <= held / 400 <= 0.985
    assert naive < held  # positions ignored: too narrow


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
