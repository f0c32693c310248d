"""How far two groups of scores part: the area under the ROC curve.

AUC is the chance that a score of the first group exceeds one of the second,
ties counting half (Mann-Whitney). Its variance is DeLong's (1988), in the form
that Obuchowski (1997) gave it for clustered scores; with every score its own
cluster the two are the same. With V10 (m,) and V01 (n,) the placements, summed
within cluster i to V10_i and V01_i over m_i and n_i scores:

    S10 = I10 / ((I10 - 1) m) sum (V10_i - m_i A)^2      S01 likewise
    S11 = I / (I - 1) sum (V10_i - m_i A)(V01_i - n_i A)
    var A = S10 / m + S01 / n + 2 S11 / (m n)

I10, I01 and I count the clusters with scores of the first group, of the second,
and of either. Few clusters estimate it badly: their sums may cancel by chance and
leave an interval far narrower than that of independent scores. So with clusters
the larger of the two variances is taken, and below three clusters none. The
interval is built on the logit of A with t(I - 1), so that it stays between 0 and 1.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import t_quantile
from contextecho.stats.units import FloatArray, IntArray, Labels, few_clusters, label_codes

_FEWEST_CLUSTERS = 3
_EXACT_CLUSTERS = 14
_RESAMPLES, _SEED = 10_000, 42
_ROUNDING = 1e-24  # a variance of placements, which lie between 0 and 1


BoolArray: TypeAlias = NDArray[np.bool_]


class AucEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """An AUC. `auc` or `interval` None: `note` says why, or what to beware of."""

    auc: float | None
    interval: Interval | None
    n_high: int
    n_low: int
    note: str | None = None


def auc(
    high: ArrayLike,
    low: ArrayLike,
    *,
    clusters_high: Labels | None = None,
    clusters_low: Labels | None = None,
    level: float = 0.95,
) -> AucEstimate:
    """The chance that a score of `high` (m,) exceeds one of `low` (n,), with its interval.

    `clusters_high` (m,) and `clusters_low` (n,) are labels from one naming, both
    or neither; without them every score is independent.
    """
    x, y = np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64)
    m, n = len(x), len(y)
    if not m or not n:
        note = "one of the groups has no scores"
        return AucEstimate(auc=None, interval=None, n_high=m, n_low=n, note=note)
    v10, v01 = _share_below(x, y), 1.0 - _share_below(y, x)
    area = float(v10.mean())
    codes = _codes(clusters_high, clusters_low, m, n)
    clusters = len(np.unique(np.concatenate(codes)))
    if clusters_high is not None and clusters < _FEWEST_CLUSTERS:
        few = f"no interval below {_FEWEST_CLUSTERS} clusters"
        return AucEstimate(auc=area, interval=None, n_high=m, n_low=n, note=few)
    independent = _variance(v10 - area, v01 - area, np.arange(m), np.arange(m, m + n))
    clustered = _variance(v10 - area, v01 - area, *codes)
    variance = 0.0 if independent is None or clustered is None else max(independent, clustered)
    if variance <= _ROUNDING or not 0.0 < area < 1.0:
        note = "no spread to estimate an interval from"
        return AucEstimate(auc=area, interval=None, n_high=m, n_low=n, note=note)
    half = t_quantile(level, clusters - 1) * math.sqrt(variance) / (area * (1.0 - area))
    interval = Interval(
        low=float(expit(logit(area) - half)),
        high=float(expit(logit(area) + half)),
        level=level,
        method="delong" if variance == independent else "obuchowski",
    )
    known = None if clusters_high is None else few_clusters(clusters)
    return AucEstimate(auc=area, interval=interval, n_high=m, n_low=n, note=known)


def auc_by_chance(
    high: ArrayLike, low: ArrayLike, *, clusters_high: Labels, clusters_low: Labels
) -> float | None:
    """What `auc` would average if the groups did not differ and were turned to 0.5 or more.

    An axis whose sign is chosen so that `high` lies higher shows more than 0.5
    even where nothing differs. Here the groups are swapped, cluster by cluster,
    and max(A, 1 - A) is averaged: over all patterns up to 14 clusters, else over
    10,000 random ones. Shapes as in `auc`. None below three clusters, and where a
    group has no scores.
    """
    x, y = np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64)
    codes_high, codes_low = _codes(clusters_high, clusters_low, len(x), len(y))
    k = len(np.unique(np.concatenate((codes_high, codes_low))))
    if k < _FEWEST_CLUSTERS or not (len(x) and len(y)):
        return None
    # Blocks 0..k-1 are the high scores of each cluster, k..2k-1 the low ones.
    scores, block = np.concatenate((x, y)), np.concatenate((codes_high, codes_low + k))
    sizes = np.bincount(block, minlength=2 * k)
    wins = np.zeros((2 * k, 2 * k))  # [i, j]: how often a score of i exceeds one of j
    for j in np.flatnonzero(sizes):
        above = _share_below(scores, scores[block == j]) * sizes[j]
        wins[:, j] = np.bincount(block, weights=above, minlength=2 * k)
    swapped = _patterns(k)
    chosen = np.concatenate((~swapped, swapped), axis=1).astype(np.float64)
    pairs = (chosen @ sizes) * ((1.0 - chosen) @ sizes)
    areas = ((chosen @ wins) * (1.0 - chosen)).sum(axis=1)[pairs > 0.0] / pairs[pairs > 0.0]
    return float(np.maximum(areas, 1.0 - areas).mean())


def _patterns(k: int) -> BoolArray:
    """Which of `k` clusters are swapped, (patterns, k)."""
    if k > _EXACT_CLUSTERS:
        return np.random.default_rng(_SEED).integers(0, 2, (_RESAMPLES, k)).astype(bool)
    return ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(bool)


def _share_below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """For each score the share of `others` below it, equal ones counting half: its placement."""
    ordered = np.sort(others)
    below, not_above = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((below + not_above) / (2.0 * len(others)))


def _codes(
    clusters_high: Labels | None, clusters_low: Labels | None, m: int, n: int
) -> tuple[IntArray, IntArray]:
    """Cluster codes of both groups, from one numbering; without labels each score has its own."""
    if clusters_high is None and clusters_low is None:
        return np.arange(m), np.arange(m, m + n)
    if clusters_high is None or clusters_low is None:
        raise ValueError("give clusters for both groups or for neither")
    codes, _ = label_codes([*clusters_high, *clusters_low], m + n)
    return codes[:m], codes[m:]


def _variance(
    off_high: FloatArray, off_low: FloatArray, high: IntArray, low: IntArray
) -> float | None:
    """Obuchowski's variance from centred placements; None where a group is in one cluster only."""
    m, n = len(off_high), len(off_low)
    k = int(max(high.max(), low.max())) + 1
    sums_high = np.bincount(high, weights=off_high, minlength=k)
    sums_low = np.bincount(low, weights=off_low, minlength=k)
    i10, i01 = len(np.unique(high)), len(np.unique(low))
    if min(i10, i01) < 2:
        return None
    s10 = i10 / (i10 - 1) * np.sum(sums_high**2) / m
    s01 = i01 / (i01 - 1) * np.sum(sums_low**2) / n
    s11 = k / (k - 1) * np.sum(sums_high * sums_low)
    return float(s10 / m + s01 / n + 2.0 * s11 / (m * n))
