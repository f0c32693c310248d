"""The instrument tested as a whole, in little: docs/validation.md has it in full."""

from __future__ import annotations

import pytest

from contextecho.stats import Record, Setting, promises, settings, validate_setting, worlds

BY_NAME = {world.name: world for world in worlds()}


def records(name: str, gap: float, clusters: int, studies: int) -> dict[str, Record]:
    setting = Setting(world=BY_NAME[name], gap=gap, clusters=clusters)
    return {r.estimator: r for r in validate_setting(setting, studies=studies, seed=42)}


def covers(record: Record) -> float:
    assert record.coverage is not None
    return record.coverage.value


@pytest.mark.parametrize("name", ["plain", "ceiling"])
@pytest.mark.parametrize("clusters", [5, 12, 24])
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_the_default_interval_covers_a_planted_gap_19_times_in_20(
    name: str, clusters: int, gap: float
) -> None:
    found = records(name, gap, clusters, 800)["cluster-t"]
    assert found.coverage is not None
    assert found.bias is not None
    slack = 3 * found.coverage.error  # 0.75 points an error at 800 studies
    assert 0.93 - slack <= found.coverage.value <= 0.97 + slack
    assert abs(found.bias.value) <= 4 * found.bias.error
    if gap == 0.0:
        assert found.found.value <= 0.06 + 3 * found.found.error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "ceiling", "all at once"])
@pytest.mark.parametrize("clusters", [5, 12, 24])
@pytest.mark.parametrize("gap", [0.0, 0.3, 0.8])
def test_it_does_so_within_two_points(name: str, clusters: int, gap: float) -> None:
    found = records(name, gap, clusters, 4_000)["cluster-t"]
    assert BY_NAME[name].as_assumed
    assert 0.93 <= covers(found) <= 0.97
    if gap == 0.0:
        assert found.found.value <= 0.06


def test_three_positions_cover_but_say_little() -> None:
    found = records("plain", 0.8, 3, 800)
    assert 0.92 <= covers(found["cluster-t"]) <= 0.98
    assert found["cluster-t"].width is not None
    assert found["cluster-t"].width > 1.5  # half the scale
    assert found["cluster-t"].found.value < 0.5  # a gap of 0.8 is mostly not seen
    assert found["sign flip"].found.value == 0.0  # 2 / 2**3 = 0.25 is the smallest p
    assert covers(found["percentile"]) < 0.85
    assert (found["bootstrap-t"].n, found["bootstrap-t"].coverage) == (0, None)


def test_other_probes_are_reached_by_the_crossed_interval_only() -> None:
    found = records("sampled probes", 0.3, 12, 800)
    assert covers(found["cluster-t"]) < 0.85
    assert 0.92 <= covers(found["crossed"]) <= 0.98


def test_alike_neighbours_are_beyond_every_method() -> None:
    found = records("neighbours", 0.3, 12, 400)
    for method in ("cluster-t", "percentile", "bootstrap-t", "wild"):
        assert covers(found[method]) < 0.85


def test_labels_mend_a_lenient_judge() -> None:
    found = records("lenient judge", 0.8, 12, 800)
    assert covers(found["judge alone, true gap"]) < 0.70
    for name in ("ppi", "ppi++", "labels alone"):
        assert 0.92 <= covers(found[name]) <= 0.98
    widths = [found[name].width for name in ("ppi++", "labels alone")]
    assert widths[0] is not None
    assert widths[1] is not None
    assert widths[0] < widths[1]  # what the judge is good for


def test_looking_all_the_time_is_paid_for_by_the_anytime_interval_only() -> None:
    found = records("plain", 0.0, 24, 800)
    assert found["anytime-t"].found.value <= 0.05
    assert found["t at each look"].found.value > 0.15


def test_compliance_near_one_keeps_its_promise_where_a_t_does_not() -> None:
    found = records("ceiling", 0.3, 5, 2_000)
    assert covers(found["compliance"]) >= 0.93
    assert covers(found["compliance, t"]) < 0.93
    assert covers(found["compliance, pairs"]) < 0.90


def test_a_gap_of_the_margins_size_hardly_ever_passes_as_none() -> None:
    for name in ("plain", "ceiling"):
        record = records(name, 0.3, 12, 800)["equivalence"]
        assert record.found.value <= 0.05 + 3 * record.found.error


def test_the_same_seed_gives_the_same_records() -> None:
    setting = Setting(world=BY_NAME["plain"], gap=0.3, clusters=3)
    one, again = (validate_setting(setting, studies=50, seed=1) for _ in range(2))
    other = validate_setting(setting, studies=50, seed=2)
    assert one == again != other


def test_errors_are_those_of_shares_and_means() -> None:
    record = records("plain", 0.3, 5, 400)["cluster-t"]
    assert record.coverage is not None
    share = record.coverage.value
    assert record.coverage.error == pytest.approx((share * (1 - share) / record.n) ** 0.5)


def test_the_promise_is_that_of_the_default_where_what_it_assumes_holds() -> None:
    chosen = list(settings([BY_NAME["plain"], BY_NAME["neighbours"]]))
    assert len(chosen) == 2 * 3 * 4
    of_five = [each for each in chosen if each.clusters == 5]
    found = [r for each in of_five for r in validate_setting(each, studies=40, seed=3)]
    (promise,) = promises(found)
    default = [r for r in found if (r.estimator, r.world) == ("cluster-t", "plain")]
    assert (promise.clusters, promise.settings) == (5, 3)
    assert promise.lowest == min(covers(record) for record in default)
    assert promise.highest == max(covers(record) for record in default)
    assert promise.largest_size == next(r.found.value for r in default if r.gap == 0.0)


def test_no_studies_are_refused() -> None:
    setting = Setting(world=BY_NAME["plain"], gap=0.3, clusters=3)
    with pytest.raises(ValueError, match="at least one"):
        validate_setting(setting, studies=0, seed=1)
