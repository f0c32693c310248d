"""How a gap changed between two runs: another model, another anchor, a new version.

paired       the mean over clusters of the difference of their gaps, over the
             (cluster, stimulus) cells that both runs have; Student's t over clusters,
             as for the gap itself. What a cluster does to both runs cancels.
independent  runs on different sessions share no cluster: Welch's t (1947) on the two
             sets of cluster gaps.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from contextecho.stats.gap import GapEstimate, gap_of_units
from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level, t_quantile
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import cell_table, unit_means


class IndependentChange(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two gaps that share no cluster; `interval` None: `note` says why."""

    estimate: float | None
    interval: Interval | None
    clusters: tuple[int, int]
    note: str | None = None


def gap_change(before: Pairs, after: Pairs, *, level: float = 0.95) -> GapEstimate:
    """The gap of `after` less that of `before`, on the cells that both have.

    Clusters and stimuli are matched by name; `pairs` counts the matched cells, and
    `unit_gaps` holds the change of each cluster. The interval is that of `drift_gap`.
    """
    first, second = _cells(before), _cells(after)
    shared = [cell for cell in second if cell in first]
    changes = [second[cell] - first[cell] for cell in shared]
    units = unit_means(changes, [cell[0] for cell in shared], [cell[1] for cell in shared])
    change = gap_of_units(units, level=level)
    if left := len(first.keys() ^ second.keys()):
        only = f"{left} cluster x stimulus cells of only one run are left out"
        return msgspec.structs.replace(change, note="; ".join(filter(None, (only, change.note))))
    return change


def independent_change(
    before: GapEstimate, after: GapEstimate, *, level: float = 0.95
) -> IndependentChange:
    """The gap of `after` less that of `before`, where no cluster is in both."""
    check_level(level)
    one, other = before.unit_gaps, after.unit_gaps
    sizes = len(one), len(other)
    if before.estimate is None or after.estimate is None:
        note = "a run has no scored cells"
        return IndependentChange(estimate=None, interval=None, clusters=sizes, note=note)
    change = after.estimate - before.estimate
    if before.interval is None or after.interval is None:
        note = "a run shows no spread to estimate an interval from"
        return IndependentChange(estimate=change, interval=None, clusters=sizes, note=note)
    parts = [float(np.var(units, ddof=1)) / len(units) for units in (one, other)]
    variance = sum(parts)
    df = variance**2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    half = t_quantile(level, df) * math.sqrt(variance)
    interval = Interval(low=change - half, high=change + half, level=level, method="welch")
    return IndependentChange(estimate=change, interval=interval, clusters=sizes)


def _cells(pairs: Pairs) -> dict[tuple[object, object], float]:
    """The mean difference of each (cluster, stimulus), by name."""
    table = cell_table(pairs.differences, pairs.clusters, pairs.stimuli)
    return {
        (pairs.cluster_names[t], pairs.stimulus_names[i]): float(value)
        for (t, i), value in np.ndenumerate(table)
        if not np.isnan(value)
    }
