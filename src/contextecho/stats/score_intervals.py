"""Score intervals for differences of proportions: all differences that a score test keeps.

    unpaired   |p1 - p2 - d| <= z sqrt(N / (N - 1) (q1 (1 - q1) / n1 + q2 (1 - q2) / n2)),
               q the most likely rates with q1 - q2 = d (Miettinen and Nurminen 1985)
    paired     |b - c - n d| <= z sqrt(n (2 q + d (1 - d))), b and c the pairs in which only
               the first and only the second succeeded, q the most likely share of c
               (Tango 1998)

Both stay within -1 to 1, have a width where nothing was broken, and take cells as
independent. At d = 0 they decide as the pooled z test, but for N / (N - 1), and as McNemar's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import optimize, special

from contextecho.stats.interval import Interval
from contextecho.stats.mean_intervals import check_level

_EDGE = 1.0 - 1e-12  # at differences of -1 and 1 themselves the variance is 0
_FAR = 1e6  # standard errors; a root finder needs a finite number


def score_interval(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95
) -> Interval:
    """Miettinen and Nurminen's interval of the difference of two independent rates, `a - b`.

    Raises `ValueError` unless 0 <= successes <= n and n > 0 in both arms.
    """
    if not (0 <= successes_a <= n_a and 0 <= successes_b <= n_b and n_a and n_b):
        raise ValueError("each arm needs n > 0 and 0 <= successes <= n")
    found = successes_a / n_a - successes_b / n_b
    correction = (n_a + n_b) / (n_a + n_b - 1)

    def z(d: float) -> float:
        b = _restricted(successes_a, n_a, successes_b, n_b, d)
        a = b + d
        return _errors(found - d, correction * (a * (1.0 - a) / n_a + b * (1.0 - b) / n_b))

    return _invert(z, found, level, "miettinen-nurminen")


def paired_score_interval(only_a: int, only_b: int, pairs: int, *, level: float = 0.95) -> Interval:
    """Tango's interval of the difference of two rates on the same cells, `a - b`.

    `only_a` and `only_b` are the pairs in which one arm alone succeeded, of all `pairs`.
    Raises `ValueError` on counts that no table has.
    """
    if not (min(only_a, only_b) >= 0 and 0 < pairs >= only_a + only_b):
        raise ValueError("pairs > 0 and 0 <= only_a + only_b <= pairs are needed")
    found = (only_a - only_b) / pairs

    def z(d: float) -> float:
        linear = (2 * pairs - only_a + only_b) * d - only_a - only_b
        constant = -only_b * d * (1.0 - d)
        root = math.sqrt(max(linear**2 - 8.0 * pairs * constant, 0.0))
        q = max((root - linear) / (4.0 * pairs), 0.0)
        return _errors(found - d, (2.0 * q + d * (1.0 - d)) / pairs)

    return _invert(z, found, level, "tango")


def _restricted(x: int, n: int, y: int, m: int, d: float) -> float:
    """The most likely second rate where the first is `d` higher: the root of a cubic.

    In closed form (Farrington and Manning 1990), with x of n and y of m successes.
    """
    total = n + m
    quadratic = (n + 2 * m) * d - total - x - y
    linear = (m * d - total - 2 * y) * d + x + y
    constant = y * d * (1.0 - d)
    third = quadratic / (3.0 * total)
    q = third**3 - linear * quadratic / (6.0 * total**2) + constant / (2.0 * total)
    p = math.copysign(math.sqrt(max(third**2 - linear / (3.0 * total), 0.0)), q)
    turn = max(-1.0, min(1.0, q / p**3)) if p else 1.0
    rate = 2.0 * p * math.cos((math.pi + math.acos(turn)) / 3.0) - third
    return min(max(rate, 0.0, -d), 1.0, 1.0 - d)


def _errors(off: float, variance: float) -> float:
    """How many standard errors `off` is, at most very many."""
    if variance > 0.0:
        return max(-_FAR, min(_FAR, off / math.sqrt(variance)))
    return math.copysign(_FAR, off) if off else 0.0


def _invert(z: Callable[[float], float], found: float, level: float, method: str) -> Interval:
    """The differences at which `z`, which falls in d, is the critical value or its opposite."""
    check_level(level)
    critical = float(special.ndtri(0.5 + level / 2))

    def limit(end: float, at: float) -> float:
        if abs(z(end)) <= critical or (abs(found) >= 1.0 and found * end > 0.0):
            return math.copysign(1.0, end)
        return float(optimize.brentq(lambda d: z(d) - at, end, found, xtol=1e-12))

    return Interval(
        low=limit(-_EDGE, critical), high=limit(_EDGE, -critical), level=level, method=method
    )
