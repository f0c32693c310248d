"""Intervals for a mean of independent units, by four methods.

`cluster-t` is the default (docs/decisions/0006-intervals.md); the others are
kept because the papers of the field use them and because the coverage study
(benchmarks/coverage.py) compares them. With x_1..x_k the unit means, m their
mean, s their standard deviation (divisor k - 1) and se = s / sqrt(k):

    cluster-t     m +- t(k-1) se. With equally weighted clusters this is the CR2
                  variance (Bell and McCaffrey 2002) for an intercept, and k - 1
                  its Satterthwaite degrees of freedom.
    percentile    quantiles of the mean of k units drawn with replacement: the
                  first paper's kind of interval, here on the gap itself.
    bootstrap-t   m - q se, q the quantiles of (m* - m) / se* (Efron 1982).
    wild          m +- q se, q the quantile of |t*| where each residual is
                  multiplied by a six-point weight (Webb 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from scipy import special

from contextecho.stats.interval import Interval
from contextecho.stats.units import FloatArray, Unit, Units

Method = Literal["cluster-t", "percentile", "bootstrap-t", "wild"]

_ROUNDING = 1e-12
_WEBB = np.sqrt(np.array([0.5, 1.0, 1.5]))
_WEBB_WEIGHTS = np.concatenate([-_WEBB, _WEBB])


class Undefined(msgspec.Struct, frozen=True):
    """A number that cannot be computed, and why."""

    reason: str


def mean_interval(
    units: Units,
    *,
    level: float,
    method: Method = "cluster-t",
    resamples: int = 10_000,
    seed: int = 42,
) -> Interval | Undefined:
    """The interval of the mean of the unit means.

    Undefined for fewer than two units, and where all units are equal: then
    nothing shows how far another sample might lie. Raises `ValueError` unless
    0 < `level` < 1.
    """
    check_level(level)
    means, k = units.means, len(units.means)
    if k < 2:
        return Undefined(f"{k} independent unit: no spread to estimate an interval from")
    if np.ptp(means) <= _ROUNDING * units.scale:
        return Undefined(f"all {k} units are equal: no spread to estimate an interval from")
    if method == "cluster-t":
        low, high = _t(means, level)
    else:
        draw = _RESAMPLED[method]
        low, high = draw(means, level, resamples, np.random.default_rng(seed))
    if not (np.isfinite(low) and np.isfinite(high)):
        return Undefined(f"{k} units are too few for a {method} interval")
    name = method if units.unit is Unit.CLUSTER else f"{method} over {units.unit.plural}"
    return Interval(low=float(low), high=float(high), level=level, method=name)


def check_level(level: float) -> None:
    """Raise `ValueError` unless 0 < `level` < 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")


def t_quantile(level: float, df: float) -> float:
    """The two-sided quantile of Student's t."""
    return float(special.stdtrit(df, 0.5 + level / 2))


def _t(means: FloatArray, level: float) -> tuple[float, float]:
    k = len(means)
    half = t_quantile(level, k - 1) * means.std(ddof=1) / np.sqrt(k)
    return means.mean() - half, means.mean() + half


def _percentile(
    means: FloatArray, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    drawn = means[rng.integers(0, len(means), size=(resamples, len(means)))]
    low, high = np.quantile(drawn.mean(axis=1), _tails(level))
    return low, high


def _bootstrap_t(
    means: FloatArray, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    k = len(means)
    drawn = means[rng.integers(0, k, size=(resamples, k))]
    t = _studentised(drawn, means.mean())
    # "higher"/"lower" keep an infinite t* infinite instead of averaging it away.
    upper = np.quantile(t, _tails(level)[1], method="higher")
    lower = np.quantile(t, _tails(level)[0], method="lower")
    se = means.std(ddof=1) / np.sqrt(k)
    return means.mean() - upper * se, means.mean() - lower * se


def _wild(
    means: FloatArray, level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    k = len(means)
    weights = _WEBB_WEIGHTS[rng.integers(0, len(_WEBB_WEIGHTS), size=(resamples, k))]
    t = np.abs(_studentised(weights * (means - means.mean()), 0.0))
    half = np.quantile(t, level, method="higher") * means.std(ddof=1) / np.sqrt(k)
    return means.mean() - half, means.mean() + half


def _studentised(samples: FloatArray, centre: float) -> FloatArray:
    """Student's t of each row of `samples` (resamples, k); infinite for a row without spread."""
    k = samples.shape[1]
    off = samples.mean(axis=1) - centre
    se = samples.std(axis=1, ddof=1) / np.sqrt(k)
    flat = se <= _ROUNDING * np.abs(samples).max()
    t: FloatArray = np.where(flat, np.copysign(np.inf, off), off / np.where(flat, 1.0, se))
    return t


def _tails(level: float) -> tuple[float, float]:
    return (1.0 - level) / 2, (1.0 + level) / 2


_Resampled = Callable[[FloatArray, float, int, np.random.Generator], tuple[float, float]]
_RESAMPLED: dict[Method, _Resampled] = {
    "percentile": _percentile,
    "bootstrap-t": _bootstrap_t,
    "wild": _wild,
}
