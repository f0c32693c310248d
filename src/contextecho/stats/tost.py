"""Whether a gap is too small to matter: two one-sided tests on the cluster gaps.

"No significant drift" is not "no drift". Here the burden lies the other way: the gap is
called equivalent to none only if both "it is at least the margin" and "it is at most
minus the margin" are rejected (Schuirmann 1987), each by Student's t over the units,

    p = max(P(t > (m + margin) / se), P(t < (m - margin) / se)),   k - 1 df

which is the same as the 1 - 2 alpha interval lying within the margins. The usual alpha
is 0.05; the default here is 0.025, so that the interval is the 95% one that stands beside
every gap, and because few clusters near the ceiling look more alike than they are: with
0.05 a gap as large as the margin passes as none 10% of the time at five clusters, with
0.025 about 6% (docs/validation.md). Little data can never show that nothing happened.
"""

from __future__ import annotations

import msgspec
import numpy as np
from scipy import special

from contextecho.stats.gap import GapEstimate
from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import limits, over
from contextecho.stats.units import FloatArray


class Equivalence(msgspec.Struct, frozen=True, kw_only=True):
    """What two one-sided tests say. `p` None: `note` says why."""

    margin: float
    p: float | None
    interval: Interval | None  # at 1 - 2 alpha
    equivalent: bool  # never True without a p
    note: str | None = None


def equivalence(gap: GapEstimate, margin: float, *, alpha: float = 0.025) -> Equivalence:
    """Test whether the gap lies within -`margin` to `margin`, in the units of the gap.

    Raises `ValueError` unless `margin` > 0 and 0 < `alpha` < 0.5.
    """
    if not (margin > 0.0 and 0.0 < alpha < 0.5):
        raise ValueError("margin > 0 and 0 < alpha < 0.5 are needed")
    if gap.interval is None:
        return Equivalence(margin=margin, p=None, interval=None, equivalent=False, note=gap.note)
    rows = gap.unit_gaps[np.newaxis]
    p = float(equivalence_p(rows, margin)[0])
    low, high = limits(rows, level=1.0 - 2.0 * alpha)[:, 0]
    interval = Interval(
        low=float(low),
        high=float(high),
        level=1.0 - 2.0 * alpha,
        method=over("cluster-t", gap.unit),
    )
    return Equivalence(margin=margin, p=p, interval=interval, equivalent=p <= alpha, note=gap.note)


def equivalence_p(means: FloatArray, margin: float) -> FloatArray:
    """The p (studies,) of the rows of `means` (studies, k); 1 for a row without spread."""
    k = means.shape[1]
    centre, se = means.mean(axis=1), means.std(axis=1, ddof=1) / np.sqrt(k)
    nearest = margin - np.abs(centre)  # to the closer margin: the larger of both p
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(se > 0.0, special.stdtr(k - 1, -nearest / se), 1.0)
