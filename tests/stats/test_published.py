from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from contextecho.stats import (
    PublishedEstimate,
    published_mean,
    published_onset_gap,
    published_ratio,
)


def limits(found: PublishedEstimate) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


def test_the_references_clustered_bootstrap_is_reproduced(parity: Mapping[str, Any]) -> None:
    case = parity["clustered_bootstrap_mean"]
    found = published_mean(list(case["by_pos"].values()))
    assert limits(found) == pytest.approx(case["out"][:3], abs=1e-9)
    assert found.n == case["out"][3]


def test_the_references_compliance_bootstrap_is_reproduced(parity: Mapping[str, Any]) -> None:
    case = parity["cluster_bootstrap_compliance"]
    percent = [
        [100.0 * (not reply["text"].startswith("Sure:")) for reply in replies]
        for replies in case["by_pos"].values()
    ]
    assert limits(published_mean(percent)) == pytest.approx(case["out"], abs=1e-9)


def test_the_references_ratio_bootstrap_is_reproduced(parity: Mapping[str, Any]) -> None:
    case = parity["cluster_bootstrap_ratio"]
    claude, filler = (
        [[reply["len"] for reply in replies] for replies in case[arm].values()]
        for arm in ("claude", "filler")
    )
    assert limits(published_ratio(claude, filler)) == pytest.approx(case["out"], abs=1e-9)


def test_the_references_onset_bootstrap_is_reproduced(parity: Mapping[str, Any]) -> None:
    case = parity["onset_boot_gap_ci_first_call_rng42"]
    found = published_onset_gap(case["filler"], case["claude"], np.random.default_rng(42))
    assert limits(found) == pytest.approx(case["out"], abs=1e-9)


def test_positions_of_unequal_size_follow_the_same_order_of_draws() -> None:
    cells = [np.array([3.0, 2.0]), np.array([1.0]), np.array([0.0, 3.0, 1.0, 2.0])]
    rng = np.random.default_rng(42)
    replicates = [
        np.mean(
            [
                cells[t][rng.integers(0, len(cells[t]), size=len(cells[t]))].mean()
                for t in rng.integers(0, 3, size=3)
            ]
        )
        for _ in range(10_000)
    ]
    low, high = np.percentile(replicates, [2.5, 97.5])
    found = published_mean(cells)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.estimate == pytest.approx((2.5 + 1.0 + 1.5) / 3)


def test_an_empty_denominator_counts_as_one_character_as_in_the_reference() -> None:
    found = published_ratio([[10, 10]], [[0, 0]])
    assert limits(found) == (10.0, 10.0, 10.0)


def test_a_position_without_cells_is_refused() -> None:
    for cells in ([], [[1.0], []]):
        with pytest.raises(ValueError, match="at least one cell"):
            published_mean(cells)
