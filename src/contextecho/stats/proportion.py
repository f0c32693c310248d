"""Differences of proportions, for compliance.

Clustered cells get the gap of Definition 1 with its cluster-t interval, cut at
-1 and 1. Where that has none (every cluster the same: ten of ten in both arms),
and where the cells are all there is to go by (one cluster, one stimulus),
Newcombe's score interval stands in. It takes the arms as independent samples
and the cells as independent of each other, and says so.

    Wilson (1927)    (p + z^2/2n +- z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n)
    Newcombe (1998)  method 10, from Wilson's limits (l, u) of each arm:
                     low  = p1 - p2 - sqrt((p1 - l1)^2 + (u2 - p2)^2)
                     high = p1 - p2 + sqrt((u1 - p1)^2 + (p2 - l2)^2)
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy import special

from contextecho.stats.gap import GapEstimate, drift_gap
from contextecho.stats.interval import Interval
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import Unit, unit_means


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
    n = len(pairs)
    note = "score interval: takes cells and arms as independent"
    return msgspec.structs.replace(
        gap,
        interval=_newcombe(float(a.means.mean()), n, float(b.means.mean()), n, level),
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
    return _newcombe(successes_a / n_a, n_a, successes_b / n_b, n_b, level)


def _newcombe(p_a: float, n_a: int, p_b: float, n_b: int, level: float) -> Interval:
    (low_a, high_a), (low_b, high_b) = _wilson(p_a, n_a, level), _wilson(p_b, n_b, level)
    return Interval(
        low=p_a - p_b - math.hypot(p_a - low_a, high_b - p_b),
        high=p_a - p_b + math.hypot(high_a - p_a, p_b - low_b),
        level=level,
        method="newcombe",
    )


def _wilson(p: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's limits of a proportion; scipy's take a whole number of successes only."""
    z = float(special.ndtri(0.5 + level / 2))
    shrink = 1.0 + z * z / n
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4 * n * n))
    centre = p + z * z / (2 * n)
    return (centre - half) / shrink, (centre + half) / shrink
