"""Builders for the statistics tests: pairs from a table, and the reference's own outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from contextecho.stats import Pairs, pair_cells


@pytest.fixture(scope="session")
def parity(shared: Path) -> Mapping[str, Any]:
    """What the reference functions returned on made-up data."""
    return json.loads((shared / "parity" / "reference_outputs.json").read_text())


@pytest.fixture(scope="session")
def grid() -> Callable[[ArrayLike, ArrayLike], Pairs]:
    """Pairs from two full tables (clusters, stimuli, paraphrases) of scores."""

    def pairs(a: ArrayLike, b: ArrayLike) -> Pairs:
        first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        keys = [(t, p, i, 0) for t, p, i in np.ndindex(first.shape)]
        return pair_cells(keys, first.ravel().tolist(), keys, second.ravel().tolist())

    return pairs
