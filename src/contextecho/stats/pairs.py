"""Which cells pair: a cell of one arm and the cell of the other with the same key.

A key is (cluster, stimulus, paraphrase, replicate), where the cluster is the
position, or (session, position). Everything that compares two arms starts from
`Pairs`, so that every estimate and every p value rests on the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from contextecho.stats.units import FloatArray, IntArray

CellKey: TypeAlias = tuple[Hashable, Hashable, int, int]  # cluster, stimulus, paraphrase, replicate


class Pairs(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Paired cells of two arms, `a` and `b`; all arrays (n,)."""

    a: FloatArray
    b: FloatArray
    clusters: IntArray  # index into `cluster_names`
    stimuli: IntArray  # index into `stimulus_names`
    cluster_names: tuple[Hashable, ...]
    stimulus_names: tuple[Hashable, ...]
    planned: int  # distinct keys in either arm, scored or not

    @property
    def differences(self) -> FloatArray:
        """`a - b`, (n,); with `a` the control arm, positive means drift."""
        return self.a - self.b

    @property
    def dropped(self) -> int:
        """Planned pairs that lack a number in one arm or both."""
        return self.planned - len(self.a)

    def __len__(self) -> int:
        """How many cells pair."""
        return len(self.a)


def pair_cells(
    keys_a: Sequence[CellKey],
    values_a: Sequence[float | None],
    keys_b: Sequence[CellKey],
    values_b: Sequence[float | None],
) -> Pairs:
    """Pair two arms by key; a cell whose number is missing (None or NaN) does not pair.

    Give every planned key, with None where there is no score: only then does
    `planned` count what was planned. Clusters and stimuli are numbered in the
    order in which arm `a` names them. Raises `ValueError` on a key that stands
    twice in an arm, unequal lengths, or an infinite value.
    """
    arm_a, arm_b = _by_key(keys_a, values_a), _by_key(keys_b, values_b)
    shared = [
        (key, value, other)
        for key, value in arm_a.items()
        if value is not None and (other := arm_b.get(key)) is not None
    ]
    clusters: dict[Hashable, int] = {}
    stimuli: dict[Hashable, int] = {}
    cluster_codes = [clusters.setdefault(key[0], len(clusters)) for key, _, _ in shared]
    stimulus_codes = [stimuli.setdefault(key[1], len(stimuli)) for key, _, _ in shared]
    return Pairs(
        a=np.array([value for _, value, _ in shared], dtype=np.float64),
        b=np.array([other for _, _, other in shared], dtype=np.float64),
        clusters=np.array(cluster_codes, dtype=np.int64),
        stimuli=np.array(stimulus_codes, dtype=np.int64),
        cluster_names=tuple(clusters),
        stimulus_names=tuple(stimuli),
        planned=len(arm_a.keys() | arm_b.keys()),
    )


def _by_key(keys: Sequence[CellKey], values: Sequence[float | None]) -> dict[CellKey, float | None]:
    """One arm's numbers by key, None for those that are missing."""
    cells = {
        key: None if value is None or math.isnan(value) else float(value)
        for key, value in zip(keys, values, strict=True)
    }
    if len(cells) != len(keys):
        raise ValueError(f"{len(keys) - len(cells)} keys stand twice in one arm")
    if any(value is not None and math.isinf(value) for value in cells.values()):
        raise ValueError("values must be finite or missing")
    return cells
