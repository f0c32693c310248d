"""How small a gap a plan can detect, before anything is spent.

The test is the default interval's: a t on k unit means. Each unit mean of m
pairs has the variance sd^2 (1 + (m - 1) icc) / m, where icc is the share of a
pair difference's variance that its cluster explains; the smallest detectable
gap is the one whose noncentral t exceeds the critical value with the wanted
power. A significant gap of the wrong sign is not counted as found. For large k
it tends to the familiar (1.96 + 0.84) standard errors.
"""

from __future__ import annotations

import math

from scipy import special

from contextecho.stats.mean_intervals import t_quantile


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
    if sd_pair < 0 or pairs_per_cluster < 1 or not 0.0 <= icc <= 1.0:
        raise ValueError("sd_pair >= 0, pairs_per_cluster >= 1 and 0 <= icc <= 1 are needed")
    if not (0.0 < level < 1.0 and 1.0 - level < power < 1.0):
        raise ValueError("level and power must lie in (0, 1), power above 1 - level")
    if clusters < 2:
        return None
    df = clusters - 1
    critical = t_quantile(level, df)
    noncentrality = special.nctdtrinc(df, 1.0 - power, critical)  # as scipy.stats.nct, inverted
    design = (1.0 + (pairs_per_cluster - 1) * icc) / (clusters * pairs_per_cluster)
    return float(noncentrality) * sd_pair * math.sqrt(design)
