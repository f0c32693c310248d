from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.stats import CellKey, pair_cells

KEYS: list[CellKey] = [("P1", "C01", 0, 0), ("P1", "C02", 0, 0), ("P2", "C01", 0, 0)]


def test_cells_pair_by_key_whatever_their_order() -> None:
    pairs = pair_cells(KEYS, [3, 2, 1], KEYS[::-1], [0, 2, 2])
    assert pairs.differences.tolist() == [1, 0, 1]
    assert [pairs.cluster_names[c] for c in pairs.clusters] == ["P1", "P1", "P2"]
    assert [pairs.stimulus_names[s] for s in pairs.stimuli] == ["C01", "C02", "C01"]


def test_the_sign_is_first_arm_minus_second() -> None:
    assert pair_cells(KEYS[:1], [3], KEYS[:1], [1]).differences.tolist() == [2]


def test_a_missing_score_drops_its_pair_and_is_counted() -> None:
    pairs = pair_cells(KEYS, [3, None, 1], KEYS, [math.nan, 2, 0])
    assert pairs.differences.tolist() == [1]
    assert (len(pairs), pairs.planned, pairs.dropped) == (1, 3, 2)


def test_a_key_of_one_arm_only_is_planned_and_dropped() -> None:
    pairs = pair_cells(KEYS[:2], [3, 3], KEYS[1:], [3, 3])
    assert (len(pairs), pairs.planned, pairs.dropped) == (1, 3, 2)


def test_replicates_of_one_wording_are_told_apart() -> None:
    keys: list[CellKey] = [("P1", "C01", 0, 0), ("P1", "C01", 0, 1)]
    assert pair_cells(keys, [3, 1], keys, [0, 0]).differences.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ([KEYS[0], KEYS[0]], [1, 2], "twice"),
        ([KEYS[0]], [math.inf], "finite"),
        ([KEYS[0]], [1, 2], "argument"),
    ],
)
def test_impossible_arms_are_refused(
    keys: list[CellKey], values: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pair_cells(keys, values, KEYS, [1, 1, 1])


def test_two_empty_arms_make_no_pairs() -> None:
    assert (len(pair_cells([], [], [], [])), pair_cells([], [], [], []).planned) == (0, 0)


key = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1), st.integers(0, 1))
arm = st.dictionaries(key, st.none() | st.integers(0, 3), max_size=40)


@given(arm, arm, st.integers(0, 99))
def test_pairing_finds_exactly_the_keys_scored_in_both_arms(
    a: dict[CellKey, int | None], b: dict[CellKey, int | None], seed: int
) -> None:
    order = random.Random(seed).sample(sorted(b), len(b))
    pairs = pair_cells(list(a), list(a.values()), order, [b[k] for k in order])
    both = [k for k in a if a[k] is not None and b.get(k) is not None]
    assert pairs.a.tolist() == [a[k] for k in both]
    assert pairs.b.tolist() == [b[k] for k in both]
    assert [pairs.cluster_names[c] for c in pairs.clusters] == [k[0] for k in both]
    assert pairs.dropped == len(set(a) | set(b)) - len(both)
    assert np.isfinite(pairs.differences).all()
