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
and of either. The interval is built on the logit of A with t(I - 1), so that it
stays between 0 and 1.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import t_quantile
from contextecho.stats.units import FloatArray, IntArray, Labels, label_codes

_ROUNDING = 1e-24  # a variance of placements, which lie between 0 and 1


class AucEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """An AUC. `auc` or `interval` None: `note` says why."""

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
    variance, clusters = _variance(
        v10 - area, v01 - area, *_codes(clusters_high, clusters_low, m, n)
    )
    if clusters < 2 or variance <= _ROUNDING or not 0.0 < area < 1.0:
        note = "no spread to estimate an interval from"
        return AucEstimate(auc=area, interval=None, n_high=m, n_low=n, note=note)
    half = t_quantile(level, clusters - 1) * math.sqrt(variance) / (area * (1.0 - area))
    interval = Interval(
        low=float(expit(logit(area) - half)),
        high=float(expit(logit(area) + half)),
        level=level,
        method="delong" if clusters_high is None else "obuchowski",
    )
    return AucEstimate(auc=area, interval=interval, n_high=m, n_low=n)


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
) -> tuple[float, int]:
    """Obuchowski's variance from centred placements, and the number of clusters."""
    m, n = len(off_high), len(off_low)
    k = int(max(high.max(), low.max())) + 1
    sums_high = np.bincount(high, weights=off_high, minlength=k)
    sums_low = np.bincount(low, weights=off_low, minlength=k)
    i10, i01 = len(np.unique(high)), len(np.unique(low))
    if min(i10, i01) < 2:
        return 0.0, 1
    s10 = i10 / (i10 - 1) * np.sum(sums_high**2) / m
    s01 = i01 / (i01 - 1) * np.sum(sums_low**2) / n
    s11 = k / (k - 1) * np.sum(sums_high * sums_low)
    return float(s10 / m + s01 / n + 2.0 * s11 / (m * n)), k
