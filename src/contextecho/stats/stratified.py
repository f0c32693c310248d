"""Whether later texts rank higher than earlier ones, within strata.

The rank-sum test of van Elteren (1960): in stratum s with n_s and m_s scores, N_s in all,
U_s the pairs in which the later score is higher, ties counting half, and w_s = 1 / (N_s + 1),

    z = sum w_s (U_s - n_s m_s / 2) / sqrt(sum w_s^2 var U_s)
    var U_s = n_s m_s / 12 (N_s + 1 - sum (t^3 - t) / (N_s (N_s - 1)))

over the sizes t of the ties. p is two-sided, from the normal distribution. With one stratum
it is the test of Mann and Whitney without continuity correction. The area is the mean of
U_s / (n_s m_s) weighted as in z, by w_s n_s m_s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike


class RankShift(msgspec.Struct, frozen=True, kw_only=True):
    """How far the later scores rank above the earlier ones."""

    auc: float  # chance that a later score of a stratum exceeds an earlier one of it
    p: float


def stratified_rank_shift(strata: Sequence[tuple[ArrayLike, ArrayLike]]) -> RankShift:
    """The shift from earlier (n_s,) to later (m_s,) scores over one or more strata.

    Each stratum needs a score on both sides. Where no stratum has any spread, p is 1.
    """
    wins = expected = variance = weight = 0.0
    for early, late in strata:
        x, y = np.asarray(early, dtype=np.float64), np.asarray(late, dtype=np.float64)
        n, m = len(x), len(y)
        total = n + m
        _, codes, ties = np.unique(np.concatenate((x, y)), return_inverse=True, return_counts=True)
        ranks = (np.cumsum(ties) - (ties - 1) / 2.0)[codes]
        u = float(ranks[n:].sum()) - m * (m + 1) / 2.0
        tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1))
        w = 1.0 / (total + 1)
        wins += w * u
        expected += w * n * m / 2.0
        weight += w * n * m
        variance += w * w * n * m / 12.0 * (total + 1 - tied)
    z = 0.0 if variance <= 0.0 else (wins - expected) / math.sqrt(variance)
    return RankShift(auc=wins / weight, p=math.erfc(abs(z) / math.sqrt(2.0)))
