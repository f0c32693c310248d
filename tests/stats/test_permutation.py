from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from contextecho.stats import holm, sign_flip_p
from timing import takes_less_than


def test_the_reference_p_is_reached_within_its_monte_carlo_error(parity: Mapping[str, Any]) -> None:
    case = parity["paired_permutation"]
    mean, p_reference = case["out"]
    found = sign_flip_p(case["deltas"])
    assert np.mean(case["deltas"]) == pytest.approx(mean, abs=1e-9)
    assert (found.exact, found.n) == (True, 1024)
    error = (p_reference * (1 - p_reference) / 10_000) ** 0.5
    assert found.p == pytest.approx(p_reference, abs=4 * error)


def test_the_references_plus_one_p_is_reached(parity: Mapping[str, Any]) -> None:
    case = parity["perm_p_plus1"]
    deltas = [case["cond"][key] - case["scratch"][key] for key in case["scratch"]]
    mean, p_reference = case["out"]
    found = sign_flip_p(deltas)
    assert np.mean(deltas) == pytest.approx(mean, abs=1e-9)
    assert (found.exact, found.n, found.units) == (False, 10_000, 25)
    assert found.p == pytest.approx(p_reference, abs=0.01)


def test_exact_p_agrees_with_scipys_permutation_of_pairs() -> None:
    a, b = np.random.default_rng(3).integers(0, 4, (2, 9))
    expected = scipy_stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(a - b).p == pytest.approx(expected.pvalue)


def test_sampled_p_agrees_with_the_exact_binomial_tail() -> None:
    # 30 differences of 1, 20 of them positive: the sign test.
    differences = [1.0] * 20 + [-1.0] * 10
    expected = scipy_stats.binomtest(20, 30).pvalue
    assert sign_flip_p(differences).p == pytest.approx(expected, abs=4 * (0.1 / 10_000) ** 0.5)


def test_sampled_p_is_never_zero() -> None:
    assert sign_flip_p([1.0] * 40).p == pytest.approx(1 / 10_001)


def test_all_cells_of_a_cluster_flip_together() -> None:
    # Three clusters of ten equal differences: 2**3 patterns, two of them as extreme.
    found = sign_flip_p([1.0] * 30, ["P1"] * 10 + ["P2"] * 10 + ["P3"] * 10)
    assert (found.p, found.n, found.units) == (0.25, 8, 3)


def test_five_positions_can_never_reach_five_percent() -> None:
    found = sign_flip_p([2.9, 3.0, 2.8, 2.7, 3.0], [1, 2, 3, 4, 5])
    assert found.p == pytest.approx(2 / 2**5)


def test_one_position_is_flipped_stimulus_by_stimulus() -> None:
    found = sign_flip_p([1, 1, 2, 2], ["P1"] * 4, stimuli=["C01", "C01", "C02", "C02"])
    assert (found.units, found.p) == (2, 0.5)


def test_no_differences_give_no_p() -> None:
    assert sign_flip_p([]).p is None


def test_differences_that_are_all_zero_give_p_one() -> None:
    assert sign_flip_p([0.0] * 8).p == 1.0


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10))
def test_p_does_not_depend_on_order_sign_or_scale(differences: list[int]) -> None:
    p = sign_flip_p(differences).p
    assert p is not None
    assert 2 / 2 ** len(differences) <= p <= 1.0
    assert sign_flip_p([-0.1 * d for d in reversed(differences)]).p == p


def test_ten_thousand_flips_of_six_hundred_pairs_are_quick() -> None:
    differences = np.random.default_rng(1).integers(-3, 4, 600)
    with takes_less_than(0.2):
        sign_flip_p(differences)


def test_the_reference_family_is_adjusted_alike(parity: Mapping[str, Any]) -> None:
    names, p_values = zip(*parity["holm"]["in"], strict=True)
    adjusted = dict(zip(names, holm(p_values), strict=True))
    assert adjusted == pytest.approx(parity["holm"]["out"], abs=1e-12)


def test_a_contrast_without_a_p_is_not_counted_in_the_family() -> None:
    assert holm([0.01, None, 0.04]) == (pytest.approx(0.02), None, pytest.approx(0.04))
    assert holm([]) == ()


def test_holm_agrees_with_statsmodels() -> None:
    p_values = [0.011, 0.2, 0.003, 0.011, 0.9, 0.04, 0.0, 0.5]
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(p_values: list[float]) -> None:
    # Marcus, Peritz and Gabriel (1976): a hypothesis falls when all its intersections fall.
    families = [
        family
        for size in range(1, len(p_values) + 1)
        for family in combinations(range(len(p_values)), size)
    ]
    for i, adjusted in enumerate(holm(p_values)):
        closed = max(min(1.0, len(f) * min(p_values[j] for j in f)) for f in families if i in f)
        assert adjusted == pytest.approx(closed)
