from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

from contextecho.stats import clusters_needed, gap_power, minimum_detectable_gap

SD_PAIR = 0.72 * 2**0.5  # ux.md, section 7: sd of a reply about 0.72 (paper, table 4)


@pytest.mark.parametrize("clusters", [2, 3, 5, 12, 24])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_detectable_gap_is_that_of_statsmodels_t_test_power(
    clusters: int, power: float
) -> None:
    effect = TTestPower().solve_power(nobs=clusters, alpha=0.025, power=power, alternative="larger")
    found = minimum_detectable_gap(1.0, clusters, 1, power=power)
    assert found == pytest.approx(float(effect), rel=1e-4)


def test_many_units_reach_the_normal_closed_form() -> None:
    z = scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)
    assert minimum_detectable_gap(1.0, 10_000, 1) == pytest.approx(z / 100, rel=1e-3)


def test_a_25_pair_onset_cell_detects_little_less_than_point_six() -> None:
    # ux.md: "a single n=25 onset cell detects only gaps >= ~.57", from normal quantiles.
    assert minimum_detectable_gap(SD_PAIR, 25, 1) == pytest.approx(0.57, abs=0.03)


def test_the_papers_plan_detects_a_little_more_than_without_clusters() -> None:
    # ux.md: 5 probes x 12 positions, n=1 +-.37, n=10 +-.12, "ignoring clustering".
    once, ten = (minimum_detectable_gap(SD_PAIR, 12, pairs) for pairs in (5, 50))
    assert once == pytest.approx(0.40, abs=0.01)
    assert ten == pytest.approx(0.13, abs=0.01)


def test_more_pairs_do_not_help_where_positions_explain_everything() -> None:
    one, fifty = (minimum_detectable_gap(1.0, 12, pairs, icc=1.0) for pairs in (1, 50))
    assert one == pytest.approx(fifty)


def test_more_positions_always_help() -> None:
    found = [minimum_detectable_gap(1.0, clusters, 5, icc=0.3) for clusters in range(2, 30)]
    assert all(more < fewer for fewer, more in pairwise(found))


def test_a_planned_gap_is_found_as_often_as_promised() -> None:
    gap = minimum_detectable_gap(1.0, 6, 5, icc=0.2)
    assert gap is not None
    rng = np.random.default_rng(9)
    between = rng.normal(0.0, 0.2**0.5, (20_000, 6, 1))
    means = (gap + between + rng.normal(0.0, 0.8**0.5, (20_000, 6, 5))).mean(axis=2)
    found = scipy_stats.ttest_1samp(means, 0.0, axis=1, alternative="greater").pvalue <= 0.025
    assert found.mean() == pytest.approx(0.8, abs=0.012)


def test_a_single_unit_detects_nothing() -> None:
    assert minimum_detectable_gap(1.0, 1, 50) is None


@pytest.mark.parametrize("wrong", [{"icc": 1.5}, {"power": 1.0}, {"power": 0.01}, {"level": 0.0}])
def test_numbers_that_make_no_plan_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        minimum_detectable_gap(1.0, 12, 5, **wrong)


@pytest.mark.parametrize("clusters", [2, 3, 5, 12, 24])
@pytest.mark.parametrize("gap", [0.1, 0.5, 1.5])
def test_power_is_that_of_statsmodels_t_test_power(clusters: int, gap: float) -> None:
    expected = TTestPower().power(gap, clusters, 0.025, alternative="larger")
    assert gap_power(gap, 1.0, clusters, 1) == pytest.approx(float(expected), abs=1e-6)
    assert gap_power(-gap, 1.0, clusters, 1) == gap_power(gap, 1.0, clusters, 1)


@pytest.mark.parametrize("gap", [0.2, 0.5, 1.5])
@pytest.mark.parametrize("icc", [0.0, 0.4])
def test_the_clusters_needed_are_the_fewest_that_suffice(gap: float, icc: float) -> None:
    needed = clusters_needed(gap, SD_PAIR, 5, icc=icc)
    assert needed is not None
    assert gap_power(gap, SD_PAIR, needed, 5, icc=icc) >= 0.8
    assert needed == 2 or gap_power(gap, SD_PAIR, needed - 1, 5, icc=icc) < 0.8


def test_no_number_of_clusters_finds_a_gap_of_zero() -> None:
    assert clusters_needed(0.0, 1.0, 5) is None
    assert gap_power(0.0, 1.0, 12, 5) == pytest.approx(0.025)
    assert gap_power(1.0, 1.0, 1, 5) == 0.0
    assert gap_power(0.5, 0.0, 5, 1) == 1.0


def test_the_half_widths_of_the_papers_table_4_imply_the_spread_of_a_reply() -> None:
    # Sonnet 4.6, turns 1 to 1,500: half the width of each interval, from 25 and 25 replies.
    half = [0.44, 0.44, 0.46, 0.48, 0.42, 0.48, 0.46, 0.42]
    haiku = [0.48, 0.44, 0.44, 0.40, 0.42, 0.48, 0.44, 0.48]
    sonnet = [0.40, 0.40, 0.36, 0.34, 0.34, 0.34, 0.34, 0.38]
    opus = [0.28, 0.26, 0.20, 0.22, 0.20, 0.16, 0.20, 0.20]
    mean = sum(map(sum, (half, haiku, sonnet, opus))) / 32
    sd_pair = mean / scipy_stats.norm.ppf(0.975) * 25**0.5
    assert sd_pair / 2**0.5 == pytest.approx(0.66, abs=0.01)
    assert max(half) / 1.96 * (25 / 2) ** 0.5 == pytest.approx(0.87, abs=0.01)
    assert 0.66 < SD_PAIR / 2**0.5 < 0.87  # what plans assume lies between mean and worst
