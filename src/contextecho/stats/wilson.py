"""Intervals of a proportion and of a difference of two, from Wilson's limits.

    Wilson (1927)    (p + z^2/2n +- z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n)
    Newcombe (1998)  from the limits (l, u) of each rate:
                     low  = p1 - p2 - sqrt((p1 - l1)^2 - 2 phi (p1 - l1)(u2 - p2) + (u2 - p2)^2)
                     high = p1 - p2 + sqrt((u1 - p1)^2 - 2 phi (u1 - p1)(p2 - l2) + (p2 - l2)^2)

phi is 0 for independent arms (method 10). For pairs it is the correlation of the table
(a b; c d), its a d - b c lessened by n / 2 but not below 0 where positive (method 10 of
the paper on paired data). The functions that end in `_limits` take arrays.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level
from contextecho.stats.units import FloatArray


def newcombe(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> Interval:
    """Newcombe's interval of a difference of two independent proportions, `a - b`.

    Raises `ValueError` unless 0 <= successes <= n and n > 0 in both arms.
    """
    if not (0 <= successes_a <= n_a and 0 <= successes_b <= n_b and n_a and n_b):
        raise ValueError("each arm needs n > 0 and 0 <= successes <= n")
    rates = np.array([successes_a / n_a, successes_b / n_b])
    return _interval(rates, np.array([n_a, n_b]), 0.0, level, "newcombe")


def newcombe_paired(
    both: int, only_a: int, only_b: int, neither: int, *, level: float = 0.95
) -> Interval:
    """Newcombe's interval of the difference of two rates on the same cells, `a - b`.

    The counts are those of the cells in which both arms succeeded, one alone, and neither.
    Raises `ValueError` on a negative count, or without cells.
    """
    n = both + only_a + only_b + neither
    if min(both, only_a, only_b, neither) < 0 or not n:
        raise ValueError("the four counts must not be negative, and one must be positive")
    rates = np.array([both + only_a, both + only_b]) / n
    phi = _phi(both, only_a, only_b, neither)
    return _interval(rates, np.array([n, n]), phi, level, "newcombe-paired")


def wilson_limits(p: ArrayLike, n: ArrayLike, critical: float) -> FloatArray:
    """Wilson's limits (2, ...) of proportions, within 0 to 1 and around them.

    scipy's take a whole number of successes only.
    """
    p, n = np.asarray(p, dtype=np.float64), np.asarray(n, dtype=np.float64)
    shrink = 1.0 + critical**2 / n
    half = critical * np.sqrt(p * (1.0 - p) / n + critical**2 / (4.0 * n * n))
    centre = p + critical**2 / (2.0 * n)
    low, high = (centre - half) / shrink, (centre + half) / shrink
    return np.stack((np.minimum(np.maximum(low, 0.0), p), np.maximum(np.minimum(high, 1.0), p)))


def difference_limits(
    p_a: ArrayLike, limits_a: FloatArray, p_b: ArrayLike, limits_b: FloatArray, phi: ArrayLike
) -> FloatArray:
    """Newcombe's limits (2, ...) of the differences `a - b`, from each rate's own (2, ...)."""
    a, b = np.asarray(p_a), np.asarray(p_b)
    below = _third_side(a - limits_a[0], limits_b[1] - b, phi)
    above = _third_side(limits_a[1] - a, b - limits_b[0], phi)
    return np.stack((a - b - below, a - b + above))


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return float(special.ndtri(0.5 + level / 2))


def _interval(rates: FloatArray, n: np.ndarray, phi: float, level: float, method: str) -> Interval:
    check_level(level)
    limits = wilson_limits(rates, n, normal_quantile(level))
    low, high = difference_limits(rates[0], limits[:, 0], rates[1], limits[:, 1], phi)
    return Interval(low=float(low), high=float(high), level=level, method=method)


def _third_side(one: FloatArray, other: FloatArray, phi: ArrayLike) -> FloatArray:
    """Of a triangle with these sides and the cosine phi between them."""
    square = one**2 - 2.0 * np.asarray(phi) * one * other + other**2
    return np.sqrt(np.maximum(square, 0.0))


def _phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    """Newcombe's correlation of a paired table; 0 where a margin is empty."""
    n = both + only_a + only_b + neither
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if not margins:
        return 0.0
    cross = both * neither - only_a * only_b
    return (max(cross - n / 2, 0.0) if cross > 0 else cross) / math.sqrt(margins)
