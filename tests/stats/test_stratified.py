"""Van Elteren's test against Mann-Whitney of scipy, and against every permutation."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from contextecho.stats import stratified_rank_shift

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("tied", [False, True])
def test_one_stratum_is_the_mann_whitney_test(tied: bool) -> None:
    early, late = RNG.normal(size=19), RNG.normal(0.4, size=23)
    if tied:
        early, late = early.round(), late.round()
    found = stratified_rank_shift([(early, late)])
    expected = mannwhitneyu(late, early, method="asymptotic", use_continuity=False)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.auc == pytest.approx(expected.statistic / (19 * 23))


def test_mean_and_variance_are_those_of_every_permutation_within_strata() -> None:
    strata = [([1.0, 4.0, 4.0], [2.0, 4.0, 7.0]), ([0.0, 3.0], [3.0, 5.0, 9.0])]

    def statistics(early: list[float], late: list[float]) -> list[float]:
        """w U of every way to choose which scores are the late ones, by counting pairs."""
        scores = [*early, *late]
        return [
            sum((y > x) + (y == x) / 2 for y in chosen for x in rest) / (len(scores) + 1)
            for picked in combinations(range(len(scores)), len(late))
            for chosen in [[scores[i] for i in picked]]
            for rest in [[s for i, s in enumerate(scores) if i not in picked]]
        ]

    sums = np.array([sum(parts) for parts in product(*(statistics(*s) for s in strata))])
    observed = sum(
        sum((y > x) + (y == x) / 2 for y in late for x in early) / (len(early) + len(late) + 1)
        for early, late in strata
    )
    z = (observed - sums.mean()) / sums.std()
    # The survival function of the normal distribution, from scipy and not from the formula.
    from scipy.stats import norm

    assert stratified_rank_shift(strata).p == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)


def test_a_shift_of_all_strata_alike_is_no_shift_within_them() -> None:
    low, high = RNG.normal(0, size=40), RNG.normal(5, size=40)
    within = stratified_rank_shift([(low[:20], low[20:]), (high[:20], high[20:])])
    mixed = stratified_rank_shift([(low, high)])
    assert mixed.p < 1e-9
    assert within.p > 0.05


def test_scores_without_spread_tell_nothing() -> None:
    found = stratified_rank_shift([([1.0, 1.0], [1.0, 1.0, 1.0])])
    assert (found.auc, found.p) == (0.5, 1.0)
