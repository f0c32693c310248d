from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score

from contextecho.stats import agreement, krippendorff_alpha

NUMBERS = ("exact", "within_one", "kappa", "kappa_quadratic", "ac1", "spearman", "alpha")


def series(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """Two series with this confusion table."""
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return [i for i, _ in cells], [j for _, j in cells]


def test_the_reference_kappa_and_rank_correlation_are_reached(parity: Mapping[str, Any]) -> None:
    kappa, rho = parity["kappa_quadratic"], parity["spearman_tied"]
    found = agreement(kappa["x"], kappa["y"])
    assert found.kappa_quadratic == pytest.approx(kappa["out"], abs=1e-9)
    assert agreement(rho["x"], rho["y"]).spearman == pytest.approx(rho["out"], abs=1e-9)


def test_cohens_own_example_gives_point_492() -> None:
    # Cohen (1960), table 1: 200 subjects, observed 0.70, chance 0.41.
    found = agreement(*series([[88, 14, 18], [10, 40, 10], [2, 6, 12]]), categories=(0, 1, 2))
    assert found.exact == pytest.approx(0.70)
    assert found.kappa == pytest.approx((0.70 - 0.41) / 0.59)


def test_gwets_paradox_table_has_low_kappa_and_high_ac1() -> None:
    # 125 items, 118 of them agreed on: kappa -0.0234, AC1 0.9408.
    found = agreement(*series([[118, 5], [2, 0]]), categories=(0, 1))
    assert found.kappa == pytest.approx(-0.0234, abs=5e-5)
    assert found.ac1 == pytest.approx(0.9408, abs=5e-5)


def test_krippendorffs_own_example_gives_point_815() -> None:
    # Krippendorff (2011), section D: four observers, twelve units, ordinal alpha 0.815.
    silent = None
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, silent, silent, silent],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, silent, 3],
        [silent, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, silent],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, silent],
    ]
    assert krippendorff_alpha(ratings) == pytest.approx(0.815, abs=5e-4)


def test_independent_judges_of_mostly_threes_do_not_correlate() -> None:
    # The reference's rank correlation without tie averaging gives 0.42 here.
    rng = np.random.default_rng(11)
    x, y = rng.choice(4, p=[0.05, 0.05, 0.1, 0.8], size=(2, 4_000)).tolist()
    found = agreement(x, y)
    four_errors = 4 / 4_000**0.5
    assert found.spearman == pytest.approx(0.0, abs=four_errors)
    assert found.kappa == pytest.approx(0.0, abs=four_errors)
    assert found.alpha == pytest.approx(0.0, abs=four_errors)
    assert found.exact == pytest.approx(0.655, abs=0.03)  # sum of squared shares


def test_unscored_items_are_dropped_and_counted() -> None:
    found = agreement([3, None, 2, 1], [3, 2, None, 0])
    assert (found.n, found.dropped, found.exact, found.within_one) == (2, 2, 0.5, 1.0)


def test_two_judges_who_only_ever_say_three_agree_but_nothing_more_can_be_said() -> None:
    found = agreement([3] * 10, [3] * 10)
    assert (found.exact, found.ac1) == (1.0, 1.0)
    assert (found.kappa, found.kappa_quadratic, found.spearman, found.alpha) == (None,) * 4
    assert set(found.undefined) == {"kappa", "kappa_quadratic", "spearman", "alpha"}


def test_no_common_item_leaves_everything_undefined_with_a_reason() -> None:
    found = agreement([None, 1], [2, None])
    assert all(getattr(found, name) is None for name in NUMBERS)
    assert set(found.undefined) == set(NUMBERS)
    assert set(found.undefined.values()) == {"no item was scored by both"}


def test_a_score_off_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[-1\] not among"):
        agreement([3, -1], [3, 3])
    with pytest.raises(ValueError, match="argument"):
        agreement([3, 1], [3])


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)


@given(pairs)
def test_coefficients_agree_with_sklearn_and_scipy(scored: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in scored], [b for _, b in scored]
    found = agreement(x, y)
    constant = len(set(x)) == 1 or len(set(y)) == 1
    if found.kappa is not None:
        assert found.kappa == pytest.approx(cohen_kappa_score(x, y))
        quadratic = cohen_kappa_score(x, y, weights="quadratic", labels=[0, 1, 2, 3])
        assert found.kappa_quadratic == pytest.approx(quadratic)
    assert (found.spearman is None) == constant
    if found.spearman is not None:
        assert found.spearman == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    for name in NUMBERS:
        value = getattr(found, name)
        assert (value is None) == (name in found.undefined)
        assert value is None or -1.0 - 1e-9 <= value <= 1.0 + 1e-9


@given(pairs)
def test_exchanging_the_judges_changes_nothing(scored: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in scored], [b for _, b in scored]
    one, other = agreement(x, y), agreement(y, x)
    for name in NUMBERS:
        assert getattr(one, name) == pytest.approx(getattr(other, name))
