from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats

from contextecho.stats import Stop, watch_gap
from contextecho.stats.sequential import anytime_limits

UNITS = np.array([0.9, 0.4, 1.1, 0.7, 0.2, 1.0, 0.6, 0.8, 1.2, 0.5])


def bayes_factor(units: np.ndarray, mu: float, spread: float) -> float:
    """From its definition: a noncentral t averaged over the effects, against the central one."""
    n = len(units)
    t = (units.mean() - mu) / (units.std(ddof=1) / math.sqrt(n))

    def weighted(effect: float) -> float:
        density = scipy_stats.nct.pdf(t, n - 1, effect * math.sqrt(n))
        return float(density * scipy_stats.norm.pdf(effect, 0.0, math.sqrt(spread)))

    above, _ = integrate.quad(weighted, -8.0, 8.0, limit=200)
    return above / float(scipy_stats.t.pdf(t, n - 1))


@pytest.mark.parametrize("n", [6, 10])
@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_the_limits_lie_where_the_bayes_factor_reaches_one_in_alpha(n: int, spread: float) -> None:
    low, high = anytime_limits(UNITS[None], level=0.95, spread=spread)[:, 0, n - 1]
    for limit in (low, high):
        assert bayes_factor(UNITS[:n], float(limit), spread) == pytest.approx(20.0, rel=1e-3)


def test_the_first_looks_say_nothing() -> None:
    watch = watch_gap(UNITS)
    assert watch.intervals[:3] == (None, None, None)
    assert watch.intervals[-1] is not None
    assert watch.intervals[-1].method == "anytime-t"


def test_a_clear_gap_stops_before_all_positions_are_asked() -> None:
    watch = watch_gap(UNITS)
    assert watch.why is Stop.GAP
    assert watch.stopped is not None
    assert watch.stopped < len(UNITS)
    before, at = watch.intervals[watch.stopped - 2], watch.intervals[watch.stopped - 1]
    assert before is None or before.low <= 0.0
    assert at is not None
    assert at.low > 0.0


def test_a_gap_too_small_to_matter_stops_too() -> None:
    watch = watch_gap(np.tile([0.05, -0.05, 0.0], 6), margin=0.3)
    assert watch.why is Stop.NO_GAP
    undecided = watch_gap(np.tile([0.05, -0.05, 0.0], 6))
    assert (undecided.stopped, undecided.why) == (None, None)


def test_units_without_spread_never_stop() -> None:
    assert watch_gap([0.1 + 0.2] * 30).stopped is None


def test_looking_after_each_unit_finds_nothing_in_nineteen_of_twenty_series() -> None:
    noise = np.random.default_rng(3).normal(0.0, 1.0, (4_000, 40))
    low, high = anytime_limits(noise, level=0.95)
    ever = ((low > 0.0) | (high < 0.0)).any(axis=1).mean()
    assert ever <= 0.05
    n = np.arange(1, 41)
    mean = np.cumsum(noise, axis=1) / n
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = np.sqrt((np.cumsum(noise**2, axis=1) - n * mean**2) / (n - 1))
        peeked = np.abs(mean) > scipy_stats.t.ppf(0.975, n - 1) * sd / np.sqrt(n)
    assert peeked[:, 1:].any(axis=1).mean() > 0.2  # what Student's t does to whoever peeks
