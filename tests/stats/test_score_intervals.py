from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from statsmodels.stats.contingency_tables import mcnemar

from contextecho.stats import newcombe_paired, paired_score_interval, score_interval

Z = 1.959963984540054


def most_likely(counts: list[int], rates: object, low: float, high: float) -> np.ndarray:
    """The rates of a multinomial table that are likeliest, by trying, over one free parameter."""

    def against(free: float) -> float:
        shares = np.clip(rates(free), 1e-300, 1.0)  # type: ignore[operator]
        return -float(np.dot(counts, np.log(shares)))

    found = optimize.minimize_scalar(against, bounds=(low, high), options={"xatol": 1e-12})
    return np.asarray(rates(found.x))  # type: ignore[operator]


def test_miettinen_and_nurminen_on_newcombes_worked_example() -> None:
    # Newcombe (1998), table II (a), method 6: 56/70 and 48/80 give 0.0528 to 0.3382.
    found = score_interval(56, 70, 48, 80)
    assert (found.low, found.high) == pytest.approx((0.0528, 0.3382), abs=5e-5)


@given(st.integers(2, 40), st.integers(2, 40), st.data())
def test_an_unpaired_limit_is_z_standard_errors_away_at_the_likeliest_rates(
    n: int, m: int, data: st.DataObject
) -> None:
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    interval = score_interval(x, n, y, m)
    assert -1.0 <= interval.low <= x / n - y / m <= interval.high <= 1.0
    for d in (interval.low, interval.high):
        if abs(d) == 1.0:
            continue
        a, _, b, _ = most_likely(
            [x, n - x, y, m - y],
            lambda b, d=d: np.array([b + d, 1 - b - d, b, 1 - b]),
            max(0.0, -d),
            min(1.0, 1.0 - d),
        )
        variance = (a * (1 - a) / n + b * (1 - b) / m) * (n + m) / (n + m - 1)
        assert abs(x / n - y / m - d) == pytest.approx(Z * math.sqrt(variance), abs=2e-3)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_a_paired_limit_is_z_standard_errors_away_at_the_likeliest_table(
    b: int, c: int, same: int
) -> None:
    n = b + c + same
    interval = paired_score_interval(b, c, n)
    assert -1.0 <= interval.low <= (b - c) / n <= interval.high <= 1.0
    for d in (interval.low, interval.high):
        if abs(d) == 1.0:
            continue
        _, q, _ = most_likely(
            [b, c, same],
            lambda q, d=d: np.array([q + d, q, 1 - 2 * q - d]),
            max(0.0, -d),
            (1.0 - d) / 2,
        )
        variance = (2 * q + d * (1 - d)) / n
        assert abs((b - c) / n - d) == pytest.approx(Z * math.sqrt(variance), abs=2e-3)


@pytest.mark.parametrize(("b", "c"), [(12, 2), (9, 3), (5, 5), (10, 1)])
def test_a_paired_interval_excludes_zero_where_mcnemars_test_is_significant(b: int, c: int) -> None:
    p = float(mcnemar([[30, b], [c, 10]], exact=False, correction=False).pvalue)
    interval = paired_score_interval(b, c, 40 + b + c)
    assert (interval.low > 0.0 or interval.high < 0.0) == (p < 0.05)


def test_newcombes_paired_interval_on_his_first_example() -> None:
    # Newcombe (1998, paired data), table II: 36, 12, 2, 0 by method 10: 0.0569 to 0.3404.
    found = newcombe_paired(36, 12, 2, 0)
    assert (found.low, found.high) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_full_compliance_in_both_arms_has_a_width() -> None:
    found = paired_score_interval(0, 0, 10)  # Wilson's for no event: z^2 / (n + z^2)
    assert found.high == pytest.approx(Z**2 / (10 + Z**2))
    assert found.low == pytest.approx(-found.high)


def test_counts_that_no_table_has_are_refused() -> None:
    with pytest.raises(ValueError, match="n > 0"):
        score_interval(0, 0, 1, 2)
    with pytest.raises(ValueError, match="pairs"):
        paired_score_interval(6, 6, 10)
    with pytest.raises(ValueError, match="four counts"):
        newcombe_paired(-1, 0, 0, 5)
    with pytest.raises(ValueError, match="level"):
        paired_score_interval(1, 1, 10, level=95)
