"""What a plan can detect, before anything is spent.

The test is the default interval's: a t on k unit means. Each unit mean of m
pairs has the variance sd^2 (1 + (m - 1) icc) / m, where icc is the share of a
pair difference's variance that its cluster explains. The power is the chance
that a noncentral t exceeds the critical value; a significant gap of the wrong
sign is not counted as found. The smallest detectable gap is the one found with
the wanted power; for large k it tends to the familiar (1.96 + 0.84) standard errors.
"""

from __future__ import annotations

import math

from scipy import special

from contextecho.stats.mean_intervals import check_level, t_quantile

_MOST_CLUSTERS = 1 << 20


def gap_power(
    gap: float,
    sd_pair: float,
    clusters: int,
    pairs_per_cluster: int,
    *,
    icc: float = 0.0,
    level: float = 0.95,
) -> float:
    """The chance to find a true gap of this size, whichever its sign.

    Arguments as in `minimum_detectable_gap`; below two clusters nothing is found.
    """
    error = _error(sd_pair, clusters, pairs_per_cluster, icc)
    check_level(level)
    if clusters < 2:
        return 0.0
    if error == 0.0:
        return 1.0 if gap else 0.0
    df = clusters - 1
    return 1.0 - float(special.nctdtr(df, abs(gap) / error, t_quantile(level, df)))


def clusters_needed(
    gap: float,
    sd_pair: float,
    pairs_per_cluster: int,
    *,
    icc: float = 0.0,
    power: float = 0.8,
    level: float = 0.95,
) -> int | None:
    """The fewest clusters with which a true gap of this size is found with this power.

    Arguments as in `minimum_detectable_gap`. None where no number of clusters does: a gap of 0.
    """
    _check_power(power, level)

    def enough(clusters: int) -> bool:
        found = gap_power(gap, sd_pair, clusters, pairs_per_cluster, icc=icc, level=level)
        return found >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_CLUSTERS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def minimum_detectable_gap(
    sd_pair: float,
    clusters: int,
    pairs_per_cluster: int,
    *,
    icc: float = 0.0,
    power: float = 0.8,
    level: float = 0.95,
) -> float | None:
    """The smallest true gap that a two-sided test finds with this power.

    `sd_pair` is the standard deviation of a pair's difference, in rubric points
    (sqrt(2) times that of a reply, if the arms are independent); `clusters` are
    the units of `drift_gap`: positions, or the stimuli of a single position.
    None for fewer than two: nothing is detectable. Raises `ValueError` on
    numbers that make no plan.
    """
    _check_power(power, level)
    error = _error(sd_pair, clusters, pairs_per_cluster, icc)
    if clusters < 2:
        return None
    df = clusters - 1
    critical = t_quantile(level, df)
    noncentrality = special.nctdtrinc(df, 1.0 - power, critical)  # as scipy.stats.nct, inverted
    return float(noncentrality) * error


def _error(sd_pair: float, clusters: int, pairs_per_cluster: int, icc: float) -> float:
    """The standard error of the gap."""
    if sd_pair < 0 or pairs_per_cluster < 1 or not 0.0 <= icc <= 1.0:
        raise ValueError("sd_pair >= 0, pairs_per_cluster >= 1 and 0 <= icc <= 1 are needed")
    design = (1.0 + (pairs_per_cluster - 1) * icc) / (max(clusters, 1) * pairs_per_cluster)
    return sd_pair * math.sqrt(design)


def _check_power(power: float, level: float) -> None:
    if not (0.0 < level < 1.0 and 1.0 - level < power < 1.0):
        raise ValueError("level and power must lie in (0, 1), power above 1 - level")
