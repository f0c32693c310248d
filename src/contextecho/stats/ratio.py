"""Ratios between arms, for lengths: of means, and of geometric means.

    ratio of means      R = mean(a) / mean(b), both weighted as in Definition 1.
                        log R has the linearised unit values u_j = a_j / mean(a)
                        - b_j / mean(b) (delta method; they average to 0), so
                        log R +- t(k-1) sd(u) / sqrt(k), exponentiated.
    geometric ratio     base ** gap, where the cells already hold logarithms: the
                        typical ratio of a pair, which one very long reply cannot
                        carry alone.

The paper's length ratio is session over control: give the session arm as `a`.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from contextecho.stats.gap import drift_gap
from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import Undefined, mean_interval
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import unit_means


class RatioEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """`a` over `b`. `ratio` or `interval` None: `note` says why."""

    ratio: float | None
    interval: Interval | None
    clusters: int
    pairs: int
    note: str | None = None


def ratio_of_means(pairs: Pairs, *, level: float = 0.95) -> RatioEstimate:
    """The ratio of the arms' means over paired cells, with a clustered interval."""
    top = unit_means(pairs.a, pairs.clusters, pairs.stimuli)
    bottom = unit_means(pairs.b, pairs.clusters, pairs.stimuli)
    counts = {"clusters": top.clusters, "pairs": top.observations}
    if not top.observations:
        return RatioEstimate(ratio=None, interval=None, note="no scored cells", **counts)
    mean_a, mean_b = top.means.mean(), bottom.means.mean()
    if mean_a <= 0 or mean_b <= 0:
        note = "a ratio needs a positive mean in both arms"
        return RatioEstimate(ratio=None, interval=None, note=note, **counts)
    ratio = float(mean_a / mean_b)
    linearised = msgspec.structs.replace(
        top, means=top.means / mean_a - bottom.means / mean_b, scale=top.scale / mean_a
    )
    around = mean_interval(linearised, level=level)
    if isinstance(around, Undefined):
        note = "; ".join(filter(None, (around.reason, top.note)))
        return RatioEstimate(ratio=ratio, interval=None, note=note, **counts)
    interval = Interval(
        low=ratio * math.exp(around.low),
        high=ratio * math.exp(around.high),
        level=level,
        method=f"{around.method} on logs",
    )
    return RatioEstimate(ratio=ratio, interval=interval, note=top.note, **counts)


def geometric_ratio(pairs: Pairs, *, base: float = 10.0, level: float = 0.95) -> RatioEstimate:
    """`base ** drift_gap`: the ratio of geometric means, for cells that hold logarithms."""
    gap = drift_gap(pairs, level=level)
    interval = gap.interval and Interval(
        low=float(np.power(base, gap.interval.low)),
        high=float(np.power(base, gap.interval.high)),
        level=level,
        method=f"{gap.interval.method} on logs",
    )
    return RatioEstimate(
        ratio=None if gap.estimate is None else float(np.power(base, gap.estimate)),
        interval=interval,
        clusters=gap.clusters,
        pairs=gap.pairs,
        note=gap.note,
    )
