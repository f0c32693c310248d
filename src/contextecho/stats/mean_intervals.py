"""Intervals for a mean of independent units, by four methods.

`cluster-t` is the default (docs/decisions/0006-intervals.md); the others are
kept because the papers of the field use them and because `contextecho validate`
compares them. With x_1..x_k the unit means, m their mean, s their standard
deviation (divisor k - 1) and se = s / sqrt(k):

    cluster-t     m +- t(k-1) se. With equally weighted clusters this is the CR2
                  variance (Bell and McCaffrey 2002) for an intercept, and k - 1
                  its Satterthwaite degrees of freedom.
    percentile    quantiles of the mean of k units drawn with replacement: the
                  first paper's kind of interval, here on the gap itself.
    bootstrap-t   m - q se, q the quantiles of (m* - m) / se* (Efron 1982).
    wild          m +- q se, q the quantile of |t*| where each residual is
                  multiplied by a six-point weight (Webb 2014).

`limits` takes many studies at once, so that what is validated is what is used.
Every study of a call meets the same resamples, as every run of the program does.
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
_NO_SPREAD = 1e-13  # of a variance, relative to the largest square: it is a difference of sums
_CHUNK = 4_000_000  # resampled means held at once
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
    if reason := lacks_spread(units):
        return Undefined(reason)
    rows = units.means[np.newaxis]
    low, high = limits(rows, level=level, method=method, resamples=resamples, seed=seed)[:, 0]
    if not (np.isfinite(low) and np.isfinite(high)):
        return Undefined(f"{len(units.means)} units are too few for a {method} interval")
    return Interval(low=float(low), high=float(high), level=level, method=over(method, units.unit))


def over(method: str, unit: Unit) -> str:
    """The name of a method, with its units where they are not the clusters."""
    return method if unit is Unit.CLUSTER else f"{method} over {unit.plural}"


def lacks_spread(units: Units) -> str | None:
    """Why nothing shows how far another sample might lie, if so."""
    k = len(units.means)
    if k < 2:
        return f"{k} independent unit: no spread to estimate an interval from"
    if np.ptp(units.means) <= _ROUNDING * units.scale:
        return f"all {k} units are equal: no spread to estimate an interval from"
    return None


def check_level(level: float) -> None:
    """Raise `ValueError` unless 0 < `level` < 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")


def t_quantile(level: float, df: float) -> float:
    """The two-sided quantile of Student's t."""
    return float(special.stdtrit(df, 0.5 + level / 2))


def limits(
    means: FloatArray,
    *,
    level: float,
    method: Method = "cluster-t",
    resamples: int = 10_000,
    seed: int = 42,
) -> FloatArray:
    """The limits (2, studies) of the mean of each row of `means` (studies, k), k of at least 2.

    A limit that resampling cannot reach is infinite; a row without any spread has no width.
    """
    centre = means.mean(axis=1)
    se = means.std(axis=1, ddof=1) / np.sqrt(means.shape[1])
    if method == "cluster-t":
        half = t_quantile(level, means.shape[1] - 1) * se
        return np.stack((centre - half, centre + half))
    draw, rng = _RESAMPLED[method], np.random.default_rng(seed)
    weights = draw.weights(means.shape[1], resamples, rng)
    rows = max(1, _CHUNK // resamples)
    parts = [
        draw.offsets(means[i : i + rows] - centre[i : i + rows, np.newaxis], weights, level)
        for i in range(0, len(means), rows)
    ]
    below, above = np.concatenate(parts, axis=1)
    scale = 1.0 if method == "percentile" else se
    with np.errstate(invalid="ignore"):  # infinitely many standard errors of nothing
        return np.stack((centre + below * scale, centre + above * scale))


def _counts(k: int, resamples: int, rng: np.random.Generator) -> FloatArray:
    """How often each of k units is drawn, (resamples, k)."""
    drawn = rng.integers(0, k, size=(resamples, k)) + k * np.arange(resamples)[:, np.newaxis]
    counts = np.bincount(drawn.ravel(), minlength=resamples * k)
    return counts.reshape(resamples, k).astype(np.float64)


def _webb_weights(k: int, resamples: int, rng: np.random.Generator) -> FloatArray:
    """A weight for each residual, (resamples, k)."""
    return np.asarray(_WEBB_WEIGHTS[rng.integers(0, len(_WEBB_WEIGHTS), size=(resamples, k))])


def _percentile(residuals: FloatArray, counts: FloatArray, level: float) -> FloatArray:
    drawn = residuals @ counts.T / residuals.shape[1]
    return np.asarray(np.quantile(drawn, _tails(level), axis=1))


def _bootstrap_t(residuals: FloatArray, counts: FloatArray, level: float) -> FloatArray:
    t = _studentised(residuals @ counts.T, residuals**2 @ counts.T, residuals)
    # "higher"/"lower" keep an infinite t* infinite instead of averaging it away.
    upper = np.quantile(t, _tails(level)[1], axis=1, method="higher")
    lower = np.quantile(t, _tails(level)[0], axis=1, method="lower")
    return np.stack((-upper, -lower))


def _wild(residuals: FloatArray, weights: FloatArray, level: float) -> FloatArray:
    t = np.abs(_studentised(residuals @ weights.T, residuals**2 @ (weights**2).T, residuals))
    half = np.quantile(t, level, axis=1, method="higher")
    return np.stack((-half, half))


def _studentised(sums: FloatArray, squares: FloatArray, residuals: FloatArray) -> FloatArray:
    """Student's t of resamples from their sums and sums of squares, (studies, resamples).

    Infinite for a resample without spread.
    """
    k = residuals.shape[1]
    mean = sums / k
    variance = (squares - k * mean**2) / (k - 1)
    flat = variance <= _NO_SPREAD * (residuals**2).max(axis=1, keepdims=True)
    se = np.sqrt(np.where(flat, 1.0, variance) / k)
    return np.asarray(np.where(flat, np.copysign(np.inf, mean), mean / se))


def _tails(level: float) -> tuple[float, float]:
    return (1.0 - level) / 2, (1.0 + level) / 2


class _Resampling(msgspec.Struct, frozen=True):
    """How to draw, and what the draws say: (2, studies) offsets from the mean."""

    weights: Callable[[int, int, np.random.Generator], FloatArray]
    offsets: Callable[[FloatArray, FloatArray, float], FloatArray]


_RESAMPLED: dict[Method, _Resampling] = {
    "percentile": _Resampling(_counts, _percentile),
    "bootstrap-t": _Resampling(_counts, _bootstrap_t),
    "wild": _Resampling(_webb_weights, _wild),
}
