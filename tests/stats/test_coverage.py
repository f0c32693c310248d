"""The instrument tested as a whole: planted gaps must be recovered, and intervals must cover."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    """The coverage study's own simulator and tally."""
    spec = importlib.util.spec_from_file_location("coverage_study", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # msgspec resolves annotations through it
    spec.loader.exec_module(module)
    return module


def process(coverage: ModuleType, name: str) -> object:
    return next(each for each in coverage.PROCESSES if each.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["even", "even-10"])
@pytest.mark.parametrize("clusters", [5, 12])
@pytest.mark.parametrize("gap", [0.0, 0.3, 0.8])
def test_the_default_interval_covers_a_planted_gap_19_times_in_20(
    coverage: ModuleType, name: str, clusters: int, gap: float
) -> None:
    found = coverage.measure(
        process(coverage, name), gap, clusters, methods=("cluster-t",), studies=4_000
    )
    assert 0.93 <= found.tallies["cluster-t"].coverage <= 0.97
    assert found.tallies["cluster-t"].missing < 0.01
    assert abs(found.bias) < 0.02
    if gap == 0.0:
        assert found.rejected <= 0.06


@pytest.mark.slow
def test_three_positions_cover_but_say_little(coverage: ModuleType) -> None:
    methods = ("cluster-t", "percentile", "bootstrap-t")
    found = coverage.measure(process(coverage, "even-10"), 0.8, 3, methods=methods, studies=2_000)
    default, percentile = found.tallies["cluster-t"], found.tallies["percentile"]
    assert 0.90 <= default.coverage <= 0.97
    assert default.width / default.intervals > 1.5  # half the scale: a gap of 0.8 is not seen
    assert found.rejected == 0.0  # 2 / 2**3 = 0.25 is the smallest p
    assert percentile.coverage < 0.80
    assert found.tallies["bootstrap-t"].missing == 1.0


@pytest.mark.slow
def test_no_method_survives_a_gap_that_few_positions_carry(coverage: ModuleType) -> None:
    # One position in five has drifted: five positions often hold none. Documented, not mended.
    found = coverage.measure(
        process(coverage, "onset"), 0.3, 5, methods=coverage.METHODS, studies=1_000
    )
    assert all(tally.coverage < 0.85 for tally in found.tallies.values())


@pytest.mark.slow
def test_the_interval_does_not_reach_beyond_the_battery_asked(coverage: ModuleType) -> None:
    found = coverage.measure(
        process(coverage, "sampled"), 0.3, 12, methods=("cluster-t",), studies=1_000
    )
    assert found.tallies["cluster-t"].coverage < 0.85
