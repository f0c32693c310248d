"""Looking after every position, and stopping when enough is known, without paying for looks.

An interval of fixed size holds its promise for one look. Whoever looks after each new
position and stops at the first significant one finds something far too often. The
intervals here hold at all looks at once, so one may stop at any time, for any reason.

With n unit gaps of mean m and variance s^2, t = (m - mu) / (s / sqrt n) and the effect
in standard deviations normal with the variance g, the evidence against the mean mu is

    E_n = (1 + n g)^-1/2 ((1 + t^2 / (n - 1)) / (1 + t^2 / ((n - 1)(1 + n g))))^(n / 2)

the Bayes factor of Gonen et al. (2005). It is an e-process: under mu, whatever the
variance, the chance that it ever reaches 1 / alpha is at most alpha (Ville 1939;
Perez-Ortiz et al. 2024 for the scale-invariant t). Solved for mu, with a = 1 + n g and
c = (a / alpha^2)^(1 / n), it gives the confidence sequence (Wang and Ramdas 2025)

    m +- s / sqrt n * sqrt((n - 1) (c - 1) / (1 - c / a)),   none while c >= a.

The units are taken as normal; how far scores of 0 to 3 keep the promise is validated.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level
from contextecho.stats.units import FloatArray

_NO_SPREAD = 1e-12  # of the units' size


class Stop(StrEnum):
    """Why no further position is needed."""

    GAP = "the interval excludes 0"
    NO_GAP = "the interval lies within the margin"


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """The interval after each unit, None while there is none; `stopped` counts units."""

    intervals: tuple[Interval | None, ...]
    stopped: int | None
    why: Stop | None


def watch_gap(
    unit_gaps: ArrayLike, *, margin: float | None = None, level: float = 0.95, spread: float = 1.0
) -> Watch:
    """What is known after each of the unit gaps (k,), in the order in which they came.

    `margin` is the largest gap that does not matter, None to stop for a gap only; `spread`
    is g, the variance of the effects thought likely, in units of the unit gaps' variance.
    """
    check_level(level)
    units = np.asarray(unit_gaps, dtype=np.float64)
    looks = anytime_limits(units[np.newaxis], level=level, spread=spread)[:, 0].T
    intervals = tuple(
        Interval(low=float(low), high=float(high), level=level, method="anytime-t")
        if np.isfinite(low)
        else None
        for low, high in looks
    )
    for n, interval in enumerate(intervals, start=1):
        if interval is not None and (why := _enough(interval, margin)):
            return Watch(intervals=intervals, stopped=n, why=why)
    return Watch(intervals=intervals, stopped=None, why=None)


def anytime_limits(means: FloatArray, *, level: float, spread: float = 1.0) -> FloatArray:
    """Limits (2, studies, k) after each of the k unit gaps of each row of `means` (studies, k).

    Infinite where nothing can be said yet.
    """
    n = np.arange(1, means.shape[1] + 1)
    centre = np.cumsum(means, axis=1) / n
    squares = np.cumsum(np.square(means - means[:, :1]), axis=1)
    # The sum of squares about the mean, shifted to the first unit against cancellation.
    about = np.maximum(squares - n * np.square(centre - means[:, :1]), 0.0)
    a = 1.0 + n * spread
    c = (a / (1.0 - level) ** 2) ** (1.0 / n)
    size = np.square(np.abs(means).max(axis=1, keepdims=True)) + np.finfo(np.float64).tiny
    known = (c < a) & (about > _NO_SPREAD * size)
    with np.errstate(divide="ignore", invalid="ignore"):
        # s^2 / n * (n - 1) is the sum of squares over n.
        half = np.sqrt(about / n * (c - 1.0) / (1.0 - c / a))
    half = np.where(known, half, np.inf)
    return np.stack((centre - half, centre + half))


def _enough(interval: Interval, margin: float | None) -> Stop | None:
    if interval.low > 0.0 or interval.high < 0.0:
        return Stop.GAP
    if margin is not None and -margin < interval.low and interval.high < margin:
        return Stop.NO_GAP
    return None
