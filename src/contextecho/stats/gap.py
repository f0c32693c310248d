"""The drift gap of Definition 1 with its interval, and the mean of one arm.

The gap is the mean over positions of the mean over stimuli of the mean over
paraphrases of `control - session` on paired cells (first paper, Definition 1
and section 2.3). The interval is on the gap itself, and its units are the
clusters (see `units`): the battery is fixed, the positions are the sample.
"""

from __future__ import annotations

import msgspec
from numpy.typing import ArrayLike

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import Method, Undefined, mean_interval
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import FloatArray, Labels, Unit, Units, unit_means

__all__ = ["GapEstimate", "MeanEstimate", "Method", "cluster_mean_interval", "drift_gap"]


class GapEstimate(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A difference between arms. `estimate` or `interval` None: `note` says why."""

    estimate: float | None
    interval: Interval | None
    clusters: int
    pairs: int
    unit: Unit  # what the interval takes as independent
    unit_gaps: FloatArray  # (k,), their mean is `estimate`
    note: str | None = None


class MeanEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of one arm. `mean` or `interval` None: `note` says why."""

    mean: float | None
    interval: Interval | None
    clusters: int
    n: int
    note: str | None = None


def drift_gap(
    pairs: Pairs,
    *,
    level: float = 0.95,
    method: Method = "cluster-t",
    resamples: int = 10_000,
    seed: int = 42,
) -> GapEstimate:
    """Estimate the mean difference `a - b` over paired cells, weighted as in Definition 1.

    `resamples` and `seed` matter to the resampling methods only. Without pairs
    the estimate is None; with one unit, or units that are all equal, it has no
    interval.
    """
    units = unit_means(pairs.differences, pairs.clusters, pairs.stimuli)
    return gap_of_units(units, level=level, method=method, resamples=resamples, seed=seed)


def gap_of_units(
    units: Units,
    *,
    level: float = 0.95,
    method: Method = "cluster-t",
    resamples: int = 10_000,
    seed: int = 42,
) -> GapEstimate:
    """The same from unit differences that are made already."""
    estimate, interval, note = _estimate(units, level, method, resamples, seed)
    return GapEstimate(
        estimate=estimate,
        interval=interval,
        clusters=units.clusters,
        pairs=units.observations,
        unit=units.unit,
        unit_gaps=units.means,
        note=note,
    )


def cluster_mean_interval(
    values: ArrayLike,
    clusters: Labels | None = None,
    *,
    stimuli: Labels | None = None,
    level: float = 0.95,
) -> MeanEstimate:
    """The mean of one arm with its `cluster-t` interval, weighted as in Definition 1.

    `values` (n,) finite; `clusters` and `stimuli` (n,) labels of any kind.
    """
    units = unit_means(values, clusters, stimuli)
    mean, interval, note = _estimate(units, level, "cluster-t", 0, 0)
    return MeanEstimate(
        mean=mean, interval=interval, clusters=units.clusters, n=units.observations, note=note
    )


def _estimate(
    units: Units, level: float, method: Method, resamples: int, seed: int
) -> tuple[float | None, Interval | None, str | None]:
    """The mean of the units, its interval, and what to say about them."""
    if not units.observations:
        return None, None, "no scored cells"
    interval = mean_interval(units, level=level, method=method, resamples=resamples, seed=seed)
    mean = float(units.means.mean())
    if isinstance(interval, Undefined):
        return mean, None, "; ".join(filter(None, (interval.reason, units.note)))
    return mean, interval, units.note
