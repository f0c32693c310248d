"""How a simulated study comes about, and what its true gap is.

Each reply has a place z on a line that nobody sees; its score is the number of the
thresholds -1, 0 and 1 below it, so 0 to 3, as the judge's. At position t, for probe i
in wording j, with every Greek letter a normal effect of the standard deviation below:

    control   z = centre + alpha_t + beta_i + omega_ij + epsilon
    session   z = centre + alpha_t + beta_i + omega_ij + epsilon
                  - (shift_t + gamma_t + eta_i + kappa_ij)

alpha: what a position does to both arms (0.3); beta: a probe's level (0.4); omega: a
wording's (0.3); gamma: a position's own gap (0.5); eta: a probe's own gap (`probe_gap`);
kappa: a wording's own gap (0.2); epsilon: position x probe in one arm (0.3) and the reply
itself (0.8). Where the battery is fixed, beta, omega, eta and kappa are the same in
every study and spread evenly; where it is sampled, they are drawn anew.

All that is random is normal, so expected scores have a closed form, a sum of normal
distribution functions, and `shift` is solved for. The planted gap is therefore the true
one to the last digits, ceiling or not, and no estimator had a hand in it.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import lru_cache

import msgspec
import numpy as np
from scipy import optimize, special

from contextecho.stats.units import FloatArray

PROBES = 5  # the coding-self battery of the first paper
THRESHOLDS = np.array([-1.0, 0.0, 1.0])
POSITION, POSITION_GAP = 0.3, 0.5
PROBE, WORDING, WORDING_GAP = 0.4, 0.3, 0.2
CROSSED, REPLY = 0.3, 0.8
NEIGHBOUR = 0.6  # correlation of a position with the next, where neighbours are alike
ONSET = 0.4  # share of the positions that have drifted, where the gap sets in somewhere
_SCORES = np.arange(len(THRESHOLDS) + 1)
_WIDEST = 12.0  # no shift beyond it changes a score


class Drift(StrEnum):
    """How the gap lies over the positions."""

    EVEN = "even"  # own gaps of independent positions, normal
    NEIGHBOURS = "neighbours"  # own gaps of neighbouring positions are alike
    GROWING = "growing"  # none at the first position, twice the mean at the last
    ONSET = "onset"  # some positions have drifted, the others not at all


class Judge(StrEnum):
    """How the score is read."""

    FAULTLESS = "faultless"
    NOISY = "noisy"  # a quarter of all scores one too high or too low
    LENIENT = "lenient"  # as noisy, and a quarter of the session's scores one too high


class Missing(StrEnum):
    """Which replies have no score."""

    NONE = "none"
    RANDOM = "random"  # one in ten
    LOW = "low"  # one in five zeros, one in ten ones, one in twenty of the others


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which studies come about."""

    name: str
    says: str
    centre: float = 0.8
    probe_gap: float = 0.3
    sampled: bool = False  # the battery
    drift: Drift = Drift.EVEN
    wordings: int = 3
    judge: Judge = Judge.FAULTLESS
    missing: Missing = Missing.NONE

    @property
    def as_assumed(self) -> bool:
        """Whether what the default interval takes for granted holds."""
        return not self.sampled and self.drift is Drift.EVEN and self.judge is not Judge.LENIENT

    @property
    def chance_missing(self) -> FloatArray:
        """The chance that a reply has no score, by its true score (4,)."""
        return np.array(_MISSING[self.missing])


_MISSING = {
    Missing.NONE: (0.0, 0.0, 0.0, 0.0),
    Missing.RANDOM: (0.1, 0.1, 0.1, 0.1),
    Missing.LOW: (0.2, 0.1, 0.05, 0.05),
}


def reading(judge: Judge) -> FloatArray:
    """The chance of each reading of each true score, (control and session, 4 true, 4 read)."""
    right = np.eye(len(_SCORES))
    if judge is Judge.FAULTLESS:
        return np.stack((right, right))
    up, down = np.eye(len(_SCORES), k=1), np.eye(len(_SCORES), k=-1)
    up[-1, -1] = down[0, 0] = 1.0  # beyond the end there is nothing to misread
    noisy = 0.75 * right + 0.125 * (up + down)
    return np.stack((noisy, noisy if judge is Judge.NOISY else noisy @ (0.75 * right + 0.25 * up)))


class Effects(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a battery brings with it, (probes, wordings); `gap` is its own share of the gap."""

    level: FloatArray
    gap: FloatArray


def fixed_battery(process: Process) -> Effects:
    """The effects of a battery that is the same in every study: evenly spread, mean zero."""
    probe = _even_normals(PROBES)
    wording = _even_normals(process.wordings)
    turned = np.stack([np.roll(wording, i) for i in range(PROBES)])  # no wording is best everywhere
    return Effects(
        level=PROBE * probe[:, np.newaxis] + WORDING * turned,
        gap=process.probe_gap * np.roll(probe, 2)[:, np.newaxis] + WORDING_GAP * turned[::-1],
    )


def shifts(process: Process, gap: float, clusters: int) -> FloatArray:
    """The shift of the session arm at each position (clusters,), or where it has drifted."""
    wanted = _solve(process, gap, clusters)
    if process.drift is Drift.GROWING:
        return wanted * np.linspace(0.0, 2.0, clusters)
    return np.full(clusters, wanted)


def true_gap(process: Process, gap: float, clusters: int) -> float:
    """The expected gap as this process's judge reads it; `gap` itself if it is faultless."""
    return _expected_gap(process, shifts(process, gap, clusters), reading(process.judge))


def success_gap(process: Process, gap: float, clusters: int) -> float:
    """The expected difference of shares of replies that score above 1."""
    control, session = _shares(process, shifts(process, gap, clusters))
    return float(control[2:].sum() - session[2:].sum())


@lru_cache(maxsize=1024)
def _solve(process: Process, gap: float, clusters: int) -> float:
    """The shift with which a faultless judge would read `gap`."""
    ramp = np.linspace(0.0, 2.0, clusters) if process.drift is Drift.GROWING else np.ones(clusters)
    right = reading(Judge.FAULTLESS)

    def off(shift: float) -> float:
        return _expected_gap(process, shift * ramp, right) - gap

    return float(optimize.brentq(off, -_WIDEST, _WIDEST, xtol=1e-12))


def _expected_gap(process: Process, shift: FloatArray, read: FloatArray) -> float:
    control, session = _shares(process, shift)
    return float((control @ read[0] - session @ read[1]) @ _SCORES)


def _shares(process: Process, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The share of each true score in both arms, over positions and the battery, (4,) each."""
    shared = POSITION**2 + CROSSED**2 + REPLY**2
    own = POSITION_GAP**2
    if process.sampled:
        level, gap = np.zeros((1, 1)), np.zeros((1, 1))
        shared += PROBE**2 + WORDING**2
        own += process.probe_gap**2 + WORDING_GAP**2
    else:
        effects = fixed_battery(process)
        level, gap = effects.level, effects.gap
    control = process.centre + level
    session = control - gap - shift[:, np.newaxis, np.newaxis]
    there = _share_of(session, math.sqrt(shared + own))
    if process.drift is Drift.ONSET:
        still = _share_of(control, math.sqrt(shared))
        there = ONSET * there + (1.0 - ONSET) * still
    return _share_of(control, math.sqrt(shared)), there


def _share_of(place: FloatArray, sd: float) -> FloatArray:
    """The share of each score where z is normal around `place`, averaged over it."""
    above = special.ndtr((place[..., np.newaxis] - THRESHOLDS) / sd)
    above = above.reshape(-1, len(THRESHOLDS)).mean(axis=0)
    return -np.diff(np.concatenate(([1.0], above, [0.0])))


def _even_normals(n: int) -> FloatArray:
    """Numbers spread as n normal ones are expected to be, mean 0 and variance 1; 0 for one."""
    if n == 1:
        return np.zeros(1)
    spread = special.ndtri((np.arange(n) + 0.5) / n)
    return np.asarray(spread / spread.std())
