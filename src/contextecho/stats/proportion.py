"""Proportions and their differences, for compliance.

A proportion has Wilson's interval, which stays between 0 and 1 and has a width
where every cell is a success; a t interval, cut or on the logit, covers as little
as a tenth of the time there (docs/statistics.md). With k > 1 clusters it is Wilson's
with t(k - 1) for z, and with the n that would give independent cells the
variance seen between the clusters, p (1 - p) / (s^2 / k) (Korn and Graubard 1998),
but never more than there are cells: a low variance of few clusters is luck.

A difference over clusters is the gap of Definition 1 with its cluster-t interval,
cut at -1 and 1. Where that has none (every cluster the same: ten of ten in both
arms), and where the cells are all there is to go by (one cluster, one stimulus),
Newcombe's score interval for paired cells stands in. It takes the pairs as
independent of each other, and says so.

    Wilson (1927)    (p + z^2/2n +- z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n)
    Newcombe (1998)  method 10, from Wilson's limits (l, u) of each arm:
                     low  = p1 - p2 - sqrt((p1 - l1)^2 - 2 phi (p1 - l1)(u2 - p2) + (u2 - p2)^2)
                     high = p1 - p2 + sqrt((u1 - p1)^2 - 2 phi (u1 - p1)(p2 - l2) + (p2 - l2)^2)
                     phi is 0 for independent arms; for pairs the correlation of the
                     table (a b; c d), its a d - b c lessened by n / 2 but not below 0
                     where positive
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from contextecho.stats.gap import GapEstimate, MeanEstimate, drift_gap
from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level, t_quantile
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import Labels, Unit, Units, unit_means

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
    clustered = units.clusters > 1
    critical = t_quantile(level, units.clusters - 1) if clustered else _z(level)
    low, high = _wilson(rate, _effective(units, rate) if clustered else n, critical)
    interval = Interval(
        low=min(max(low, 0.0), rate),
        high=max(min(high, 1.0), rate),
        level=level,
        method="cluster-wilson" if clustered else "wilson",
    )
    return MeanEstimate(mean=rate, interval=interval, clusters=units.clusters, n=n, note=units.note)


def _effective(units: Units, rate: float) -> float:
    """How many independent cells would vary as much as the clusters do, at most all there are."""
    between = float(units.means.var(ddof=1)) / units.clusters
    if between <= _ROUNDING:
        return units.observations
    return min(rate * (1.0 - rate) / between, units.observations)


def proportion_gap(pairs: Pairs, *, level: float = 0.95) -> GapEstimate:
    """The difference of success rates `a - b` over paired cells that hold 0 or 1.

    Raises `ValueError` on any other value.
    """
    if not (np.isin(pairs.a, (0.0, 1.0)).all() and np.isin(pairs.b, (0.0, 1.0)).all()):
        raise ValueError("a proportion needs cells that are 0 or 1")
    gap = drift_gap(pairs, level=level)
    if gap.estimate is None:
        return gap
    if gap.interval is not None and gap.unit is not Unit.OBSERVATION:
        low, high = max(-1.0, gap.interval.low), min(1.0, gap.interval.high)
        cut = msgspec.structs.replace(gap.interval, low=low, high=high)
        return msgspec.structs.replace(gap, interval=cut)
    # Rates weighted as the estimate is, so that the interval lies around it.
    a, b = (unit_means(arm, pairs.clusters, pairs.stimuli) for arm in (pairs.a, pairs.b))
    n, rates = len(pairs), (float(a.means.mean()), float(b.means.mean()))
    both = float(np.sum(pairs.a * pairs.b))
    phi = _phi(both, float(pairs.a.sum()) - both, float(pairs.b.sum()) - both, n)
    note = "score interval: takes the pairs as independent"
    return msgspec.structs.replace(
        gap,
        interval=_newcombe(*rates, n, n, level, phi, "newcombe-paired"),
        note="; ".join(filter(None, (note, a.note))),
    )


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> Interval:
    """Newcombe's interval of a difference of two independent proportions, `a - b`.

    Raises `ValueError` unless 0 <= successes <= n and n > 0 in both arms.
    """
    if not (0 <= successes_a <= n_a and 0 <= successes_b <= n_b and n_a and n_b):
        raise ValueError("each arm needs n > 0 and 0 <= successes <= n")
    return _newcombe(successes_a / n_a, successes_b / n_b, n_a, n_b, level, 0.0, "newcombe")


def newcombe_paired(
    both: int, only_a: int, only_b: int, neither: int, *, level: float = 0.95
) -> Interval:
    """Newcombe's interval of the difference of two rates on the same cells, `a - b`.

    The counts are those of the cells in which both arms succeeded, one alone, and neither.
    Raises `ValueError` on a negative count, or without cells.
    """
    n = both + only_a + only_b + neither
    if min(both, only_a, only_b, neither) < 0 or not n:
        raise ValueError("the four counts must not be negative, and one must be positive")
    a, b = (both + only_a) / n, (both + only_b) / n
    return _newcombe(a, b, n, n, level, _phi(both, only_a, only_b, n), "newcombe-paired")


def _newcombe(
    p_a: float, p_b: float, n_a: int, n_b: int, level: float, phi: float, method: str
) -> Interval:
    z = _z(level)
    (low_a, high_a), (low_b, high_b) = _wilson(p_a, n_a, z), _wilson(p_b, n_b, z)
    return Interval(
        low=p_a - p_b - _third_side(p_a - low_a, high_b - p_b, phi),
        high=p_a - p_b + _third_side(high_a - p_a, p_b - low_b, phi),
        level=level,
        method=method,
    )


def _third_side(one: float, other: float, phi: float) -> float:
    """Of a triangle with these sides and the cosine phi between them."""
    return math.sqrt(max(one**2 - 2.0 * phi * one * other + other**2, 0.0))


def _phi(both: float, only_a: float, only_b: float, n: int) -> float:
    """Newcombe's correlation of a paired table; 0 where a margin is empty."""
    neither = n - both - only_a - only_b
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if margins <= 0.0:
        return 0.0
    cross = both * neither - only_a * only_b
    return (max(cross - n / 2, 0.0) if cross > 0.0 else cross) / math.sqrt(margins)


def _z(level: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return float(special.ndtri(0.5 + level / 2))


def _wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's limits of a proportion; scipy's take a whole number of successes only."""
    shrink = 1.0 + z * z / n
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4 * n * n))
    centre = p + z * z / (2 * n)
    return (centre - half) / shrink, (centre + half) / shrink
