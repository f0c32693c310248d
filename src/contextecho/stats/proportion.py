"""Differences of proportions, for compliance.

Clustered cells get the gap of Definition 1 with its cluster-t interval, cut at
-1 and 1. Where that has none (one cluster, or every cluster the same: ten of
ten in both arms), Newcombe's score interval stands in. It takes the two arms as
independent samples and the cells as independent of each other, and says so.

    Newcombe (1998), method 10, from Wilson's limits (l, u) of each arm:
        low  = p1 - p2 - sqrt((p1 - l1)^2 + (u2 - p2)^2)
        high = p1 - p2 + sqrt((u1 - p1)^2 + (p2 - l2)^2)
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy import stats

from contextecho.stats.gap import GapEstimate, drift_gap
from contextecho.stats.interval import Interval
from contextecho.stats.pairs import Pairs


def proportion_gap(pairs: Pairs, *, level: float = 0.95) -> GapEstimate:
    """The difference of success rates `a - b` over paired cells that hold 0 or 1.

    Raises `ValueError` on any other value.
    """
    if not (np.isin(pairs.a, (0.0, 1.0)).all() and np.isin(pairs.b, (0.0, 1.0)).all()):
        raise ValueError("a proportion needs cells that are 0 or 1")
    gap = drift_gap(pairs, level=level)
    if gap.estimate is None:
        return gap
    if gap.clusters > 1 and gap.interval is not None:
        cut = msgspec.structs.replace(
            gap.interval, low=max(-1.0, gap.interval.low), high=min(1.0, gap.interval.high)
        )
        return msgspec.structs.replace(gap, interval=cut)
    n = len(pairs)
    return msgspec.structs.replace(
        gap,
        interval=newcombe(int(pairs.a.sum()), n, int(pairs.b.sum()), n, level=level),
        note="score interval: takes the cells as independent, because clusters show no spread",
    )


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> Interval:
    """Newcombe's interval of a difference of two independent proportions, `a - b`.

    Raises `ValueError` unless 0 <= successes <= n and n > 0.
    """
    p_a, low_a, high_a = _wilson(successes_a, n_a, level)
    p_b, low_b, high_b = _wilson(successes_b, n_b, level)
    return Interval(
        low=p_a - p_b - math.hypot(p_a - low_a, high_b - p_b),
        high=p_a - p_b + math.hypot(high_a - p_a, p_b - low_b),
        level=level,
        method="newcombe",
    )


def _wilson(successes: int, n: int, level: float) -> tuple[float, float, float]:
    """A proportion and Wilson's limits."""
    limits = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return successes / n, float(limits.low), float(limits.high)
