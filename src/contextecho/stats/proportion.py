"""Proportions over clusters and their differences, for compliance.

A proportion has Wilson's interval (see `wilson`), which stays between 0 and 1 and has
a width where every cell is a success; a t interval, cut or on the logit, covers as little
as a tenth of the time there (docs/statistics.md). With k > 1 clusters it is Wilson's
with t(k - 1) for z, and with the n that would give independent cells the
variance seen between the clusters, p (1 - p) / (s^2 / k) (Korn and Graubard 1998),
but never more than there are cells: a low variance of few clusters is luck.

A difference over clusters combines the two arms' intervals as Newcombe (1998) does, with
the correlation of the arms' cluster rates for phi: near 1, where contracts are, it covers
where a t over the cluster differences does not (docs/validation.md). Where all clusters
differ alike (ten of ten in both arms), and where the cells are all there is to go by (one
cluster, one stimulus), Newcombe's interval for pairs stands in. It takes the pairs as
independent, and says so.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.gap import GapEstimate, MeanEstimate, drift_gap
from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level, over, t_quantile
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import FloatArray, Labels, Unit, unit_means
from contextecho.stats.wilson import (
    difference_limits,
    newcombe_paired,
    normal_quantile,
    wilson_limits,
)

_ROUNDING = 1e-12  # relative to a variance of at most 1/4


def proportion_mean(
    values: ArrayLike,
    clusters: Labels | None = None,
    *,
    stimuli: Labels | None = None,
    level: float = 0.95,
) -> MeanEstimate:
    """The success rate of one arm, weighted as in Definition 1, with its score interval.

    `values` (n,) of 0 and 1; `clusters` and `stimuli` (n,) labels of any kind.
    One cluster takes its cells as independent; so do clusters that are all the
    same, for they show no other variance. Raises `ValueError` on any other
    value, and unless 0 < `level` < 1.
    """
    check_level(level)
    units = unit_means(values, clusters, stimuli)
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError("a proportion needs cells that are 0 or 1")
    n = units.observations
    if not n:
        return MeanEstimate(mean=None, interval=None, clusters=0, n=0, note="no scored cells")
    rate = float(units.means.mean())
    if units.clusters > 1:
        low, high = rate_limits(units.means[np.newaxis], n, level)[:, 0]
        method = "cluster-wilson"
    else:
        low, high = wilson_limits(rate, n, normal_quantile(level))
        method = "wilson"
    interval = Interval(low=float(low), high=float(high), level=level, method=method)
    return MeanEstimate(mean=rate, interval=interval, clusters=units.clusters, n=n, note=units.note)


def proportion_gap(pairs: Pairs, *, level: float = 0.95) -> GapEstimate:
    """The difference of success rates `a - b` over paired cells that hold 0 or 1.

    Raises `ValueError` on any other value.
    """
    if not (np.isin(pairs.a, (0.0, 1.0)).all() and np.isin(pairs.b, (0.0, 1.0)).all()):
        raise ValueError("a proportion needs cells that are 0 or 1")
    gap = drift_gap(pairs, level=level)
    if gap.estimate is None:
        return gap
    a, b = (unit_means(arm, pairs.clusters, pairs.stimuli) for arm in (pairs.a, pairs.b))
    if gap.interval is None or gap.unit is Unit.OBSERVATION:
        both, kept_a, kept_b = (int(x.sum()) for x in (pairs.a * pairs.b, pairs.a, pairs.b))
        only_a, only_b = kept_a - both, kept_b - both
        neither = len(pairs) - both - only_a - only_b
        interval = newcombe_paired(both, only_a, only_b, neither, level=level)
        note = "score interval: takes the pairs as independent"
        return msgspec.structs.replace(
            gap, interval=interval, note="; ".join(filter(None, (note, a.note)))
        )
    low, high = rate_gap_limits(a.means[np.newaxis], b.means[np.newaxis], len(pairs), level)[:, 0]
    method = over("cluster-newcombe", gap.unit)
    interval = Interval(low=float(low), high=float(high), level=level, method=method)
    return msgspec.structs.replace(gap, interval=interval, note=a.note)


def rate_limits(means: FloatArray, n: int, level: float) -> FloatArray:
    """The limits (2, studies) of rates from cluster rates (studies, k) of `n` cells in all."""
    rate = means.mean(axis=1)
    between = means.var(axis=1, ddof=1) / means.shape[1]
    same = between <= _ROUNDING
    # How many independent cells would vary as much as the clusters do, at most all there are.
    effective = np.where(same, n, rate * (1.0 - rate) / np.where(same, 1.0, between))
    return wilson_limits(rate, np.minimum(effective, n), t_quantile(level, means.shape[1] - 1))


def rate_gap_limits(a: FloatArray, b: FloatArray, n: int, level: float) -> FloatArray:
    """The limits (2, studies) of differences of rates, from cluster rates (studies, k) of each."""
    centred = [arm - arm.mean(axis=1, keepdims=True) for arm in (a, b)]
    norms = np.sqrt(np.prod([np.square(arm).sum(axis=1) for arm in centred], axis=0))
    products = (centred[0] * centred[1]).sum(axis=1)
    phi = np.where(norms > _ROUNDING, products / np.where(norms > _ROUNDING, norms, 1.0), 0.0)
    limits = (rate_limits(arm, n, level) for arm in (a, b))
    return difference_limits(a.mean(axis=1), next(limits), b.mean(axis=1), next(limits), phi)
