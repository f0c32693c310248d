"""The gap where the probes too are a sample: crossed random effects of position and probe.

    d_ti = mu + A_t + B_i + e_ti

d_ti is the mean difference at position t on probe i. The default interval (see `gap`)
speaks of other positions and *this* battery; this one speaks of other positions and
other probes like these, so it is wider: the second opinion on whether a gap is one of
the battery or of register. From the mean squares of a complete table of T x I,

    V(mu) = (MS_A + MS_B - MS_e) / (T I),   df by Satterthwaite (1946)

which is what REML gives where no component is 0; where one is, its mean square is pooled
with MS_e, as REML does. A table with empty cells goes to REML itself (`mixed`).
"""

from __future__ import annotations

import msgspec
import numpy as np
from scipy import special

from contextecho.stats.interval import Interval
from contextecho.stats.mixed import mixed_mean
from contextecho.stats.pairs import Pairs
from contextecho.stats.units import FloatArray, cell_table

POSITION, PROBE = "position", "probe"


class CrossedGap(msgspec.Struct, frozen=True, kw_only=True):
    """A gap over positions and probes. `estimate` or `interval` None: `note` says why."""

    estimate: float | None
    interval: Interval | None
    df: float | None
    positions: int
    probes: int
    note: str | None = None


def crossed_gap(pairs: Pairs, *, level: float = 0.95) -> CrossedGap:
    """The mean difference `a - b` with positions and probes as crossed random effects.

    Cells weigh equally, however many replies they hold. Needs two positions and two probes.
    """
    table = cell_table(pairs.differences, pairs.clusters, pairs.stimuli)
    positions, probes = table.shape
    sizes = {"positions": positions, "probes": probes}
    if min(positions, probes) < 2:
        note = f"{positions} positions and {probes} probes: the crossed model needs two of each"
        return CrossedGap(estimate=None, interval=None, df=None, note=note, **sizes)
    filled = ~np.isnan(table)
    if not filled.all():
        where, what = np.nonzero(filled)
        found = mixed_mean(table[filled], {POSITION: where, PROBE: what}, level=level)
        return CrossedGap(
            estimate=found.mean, interval=found.interval, df=found.df, note=found.note, **sizes
        )
    variance, df = (float(each[0]) for each in crossed_variance(table[np.newaxis]))
    mean = float(table.mean())
    if variance <= 0.0:
        note = "the cells show no variation"
        return CrossedGap(estimate=mean, interval=None, df=None, note=note, **sizes)
    half = float(special.stdtrit(df, 0.5 + level / 2)) * variance**0.5
    interval = Interval(low=mean - half, high=mean + half, level=level, method="crossed")
    return CrossedGap(estimate=mean, interval=interval, df=df, **sizes)


def crossed_limits(tables: FloatArray, *, level: float) -> FloatArray:
    """The limits (2, studies) for complete tables (studies, positions, probes)."""
    variance, df = crossed_variance(tables)
    mean, half = tables.mean(axis=(1, 2)), special.stdtrit(df, 0.5 + level / 2) * variance**0.5
    return np.stack((mean - half, mean + half))


def crossed_variance(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The variance of each table's mean and its degrees of freedom, (studies,) each."""
    _, t, i = tables.shape
    a, b = tables.mean(axis=2), tables.mean(axis=1)
    mean = tables.mean(axis=(1, 2))
    ss_a = i * np.square(a - mean[:, np.newaxis]).sum(axis=1)
    ss_b = t * np.square(b - mean[:, np.newaxis]).sum(axis=1)
    off = tables - a[:, :, np.newaxis] - b[:, np.newaxis] + mean[:, np.newaxis, np.newaxis]
    ss_e = np.square(off).sum(axis=(1, 2))
    df_a, df_b, df_e = t - 1, i - 1, (t - 1) * (i - 1)
    ms_a, ms_b, ms_e = ss_a / df_a, ss_b / df_b, ss_e / df_e
    both = (ms_a > ms_e) & (ms_b > ms_e)
    only_b = (ms_a <= ms_e) & (ms_b > (ss_a + ss_e) / (df_a + df_e))
    only_a = (ms_b <= ms_e) & (ms_a > (ss_b + ss_e) / (df_b + df_e))
    cases = (both, only_a, only_b)
    total = ms_a + ms_b - ms_e
    with np.errstate(divide="ignore", invalid="ignore"):  # tables without any variation
        own = total**2 / (ms_a**2 / df_a + ms_b**2 / df_b + ms_e**2 / df_e)
    pooled = (ss_a + ss_b + ss_e) / (t * i - 1)
    variance = np.select(cases, (total, ms_a, ms_b), pooled) / (t * i)
    df = np.select(cases, (own, np.full_like(own, df_a), np.full_like(own, df_b)), t * i - 1.0)
    return variance, df
