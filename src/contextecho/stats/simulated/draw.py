"""Many studies of one process at once, as arrays of scores."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from contextecho.stats.simulated.process import (
    CROSSED,
    NEIGHBOUR,
    ONSET,
    POSITION,
    POSITION_GAP,
    PROBE,
    PROBES,
    REPLY,
    THRESHOLDS,
    WORDING,
    WORDING_GAP,
    Drift,
    Effects,
    Judge,
    Missing,
    Process,
    fixed_battery,
    reading,
    shifts,
)
from contextecho.stats.units import FloatArray, IntArray

Rng = np.random.Generator


class Studies(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Scores of both arms, (2, studies, positions, probes, wordings); control comes first."""

    true: FloatArray  # what a faultless judge would say of every reply
    read: FloatArray  # what this judge says; NaN where a reply has no score

    @property
    def differences(self) -> FloatArray:
        """Control less session of the cells that pair, NaN elsewhere."""
        return np.asarray(self.read[0] - self.read[1])


def draw(process: Process, gap: float, clusters: int, studies: int, rng: Rng) -> Studies:
    """Draw `studies` studies with the planted `gap`."""
    shape = (studies, clusters, PROBES, process.wordings)
    effects = _battery(process, studies, rng)
    level = process.centre + effects.level + _positions(process, POSITION, shape, rng)
    own = shifts(process, gap, clusters)[:, np.newaxis, np.newaxis] + effects.gap
    own = own + _positions(process, POSITION_GAP, shape, rng)
    if process.drift is Drift.ONSET:
        own = own * (rng.random((studies, clusters, 1, 1)) < ONSET)
    true = np.stack([_scores(place, shape, rng) for place in (level, level - own)])
    return Studies(true=true.astype(np.float64), read=_read(process, true, rng))


def _battery(process: Process, studies: int, rng: Rng) -> Effects:
    """What the battery does, to broadcast over (studies, positions, probes, wordings)."""
    if not process.sampled:
        return fixed_battery(process)
    probe, wording = (studies, 1, PROBES, 1), (studies, 1, PROBES, process.wordings)
    return Effects(
        level=rng.normal(0.0, PROBE, probe) + rng.normal(0.0, WORDING, wording),
        gap=rng.normal(0.0, process.probe_gap, probe) + rng.normal(0.0, WORDING_GAP, wording),
    )


def _positions(process: Process, sd: float, shape: tuple[int, ...], rng: Rng) -> FloatArray:
    """What each position does, (studies, positions, 1, 1)."""
    each = rng.normal(0.0, sd, (*shape[:2], 1, 1))
    if process.drift is Drift.NEIGHBOURS:
        new = math.sqrt(1.0 - NEIGHBOUR**2)
        for t in range(1, shape[1]):
            each[:, t] = NEIGHBOUR * each[:, t - 1] + new * each[:, t]
    return each


def _scores(place: FloatArray, shape: tuple[int, ...], rng: Rng) -> IntArray:
    """Scores of replies around `place`."""
    z = rng.normal(0.0, REPLY, shape) + rng.normal(0.0, CROSSED, (*shape[:3], 1)) + place
    return np.asarray((z[..., np.newaxis] > THRESHOLDS).sum(axis=-1))


def _read(process: Process, true: IntArray, rng: Rng) -> FloatArray:
    """What the judge makes of the true scores, NaN where there is no score."""
    read = true.astype(np.float64)
    if process.judge is not Judge.FAULTLESS:
        upto = reading(process.judge).cumsum(axis=-1)
        arm = np.arange(2).reshape(2, *(1,) * (true.ndim - 1))
        chance = rng.random(true.shape)
        read = (chance[..., np.newaxis] > upto[arm, true][..., :-1]).sum(axis=-1).astype(float)
    if process.missing is not Missing.NONE:
        read[rng.random(true.shape) < process.chance_missing[true]] = np.nan
    return read
