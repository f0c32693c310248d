"""Every estimator on many simulated studies at once, by the code that real studies go through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

import msgspec
import numpy as np

from contextecho.stats.crossed import crossed_limits
from contextecho.stats.mean_intervals import Method, limits, t_quantile
from contextecho.stats.permutation import flip_p
from contextecho.stats.prediction_powered import arm_means, powered_difference
from contextecho.stats.proportion import rate_gap_limits
from contextecho.stats.sequential import anytime_limits
from contextecho.stats.simulated.draw import Rng, Studies, draw
from contextecho.stats.simulated.process import Judge, Missing, success_gap, true_gap
from contextecho.stats.simulated.worlds import Setting
from contextecho.stats.tost import equivalence_p
from contextecho.stats.units import FloatArray, nested_weights
from contextecho.stats.wilson import newcombe_paired

LEVEL: Final = 0.95
MARGIN: Final = 0.3  # of equivalence: the gap that the first paper calls drift
LABELLED: Final = 0.3  # share of the replies that a person scores
RESAMPLES: Final = 999
DEFAULT: Final = "cluster-t"
Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Answers(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one estimator said of each study; arrays (studies,)."""

    name: str
    truth: float | None = None  # what the interval speaks of
    estimate: FloatArray | None = None
    low: FloatArray | None = None  # not finite where there is no interval
    high: FloatArray | None = None
    found: Flags | None = None  # says that there is a gap (equivalence: that there is none)


class _Simulated(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Studies of one setting with the means that estimators start from."""

    setting: Setting
    studies: Studies
    tables: FloatArray  # (studies, positions, probes), NaN for an empty cell
    units: FloatArray  # (studies, positions)
    rng: Rng

    @property
    def truth(self) -> float:
        """The gap as this world's judge reads it."""
        setting = self.setting
        return true_gap(setting.world, setting.gap, setting.clusters)


def answers(setting: Setting, studies: int, rng: Rng) -> Iterator[Answers]:
    """Draw `studies` studies of a setting and let every estimator that applies speak."""
    drawn = draw(setting.world, setting.gap, setting.clusters, studies, rng)
    tables = mean_of_present(drawn.differences)
    simulated = _Simulated(
        setting=setting, studies=drawn, tables=tables, units=mean_of_present(tables), rng=rng
    )
    for method in get_args(Method):
        yield _mean(simulated, method)
    for estimator in (_two_stage, _crossed, _sign_flip, _equivalence, _anytime, _peeking, _change):
        yield estimator(simulated)
    world = setting.world
    if world.missing is Missing.NONE and world.judge is Judge.FAULTLESS:
        yield from _compliance(simulated)
    if world.missing is Missing.NONE and world.judge is not Judge.FAULTLESS:
        yield from _with_labels(simulated)


def mean_of_present(values: FloatArray) -> FloatArray:
    """Mean over the last axis of what is not NaN; NaN where nothing is there."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, values, 0.0).sum(axis=-1) / there.sum(axis=-1))


def _interval(
    name: str, truth: float, estimate: FloatArray, low_high: FloatArray, spread: Flags | None = None
) -> Answers:
    """Answers of an interval, which finds a gap where it excludes 0; none without `spread`."""
    low, high = low_high
    if spread is not None:
        low, high = np.where(spread, low, np.nan), np.where(spread, high, np.nan)
    known = np.isfinite(low) & np.isfinite(high)
    found = known & ((low > 0.0) | (high < 0.0))
    return Answers(name=name, truth=truth, estimate=estimate, low=low, high=high, found=found)


def _differ(units: FloatArray) -> Flags:
    """Where the units of a study differ: else there is no interval."""
    return np.asarray(np.ptp(units, axis=1) > 1e-12)


def _mean(simulated: _Simulated, method: Method) -> Answers:
    units = simulated.units
    found = limits(units, level=LEVEL, method=method, resamples=RESAMPLES)
    return _interval(method, simulated.truth, units.mean(axis=1), found, _differ(units))


def _two_stage(simulated: _Simulated) -> Answers:
    """The reference's bootstrap (positions, then replies in them) put on the gap itself.

    Its variance in closed form, and normal quantiles, in place of the resamples.
    """
    cells = simulated.studies.differences
    cells = cells.reshape(*cells.shape[:2], -1)
    there = ~np.isnan(cells)
    n = there.sum(axis=2)
    mean = mean_of_present(cells)
    squares = np.where(there, np.square(cells - mean[..., np.newaxis]), 0.0).sum(axis=2)
    within = squares / np.where(n, n, np.nan) ** 2
    variance = (mean.var(axis=1) + within.mean(axis=1)) / mean.shape[1]
    half = 1.96 * np.sqrt(variance)
    centre = mean.mean(axis=1)
    return _interval("two-stage", simulated.truth, centre, np.stack((centre - half, centre + half)))


def _crossed(simulated: _Simulated) -> Answers:
    """Studies with an empty cell would go to REML one by one; they are left out here."""
    complete = ~np.isnan(simulated.tables).any(axis=(1, 2))
    tables = np.nan_to_num(simulated.tables)
    found = crossed_limits(tables, level=LEVEL)
    spread = complete & (np.ptp(tables.reshape(len(tables), -1), axis=1) > 0.0)
    estimate = np.where(complete, tables.mean(axis=(1, 2)), np.nan)
    return _interval("crossed", simulated.truth, estimate, found, spread)


def _sign_flip(simulated: _Simulated) -> Answers:
    known = ~np.isnan(simulated.units).any(axis=1)
    p = np.where(known, flip_p(np.nan_to_num(simulated.units)), 1.0)
    return Answers(name="sign flip", found=p <= 1.0 - LEVEL)


def _equivalence(simulated: _Simulated) -> Answers:
    found = equivalence_p(simulated.units, MARGIN) <= (1.0 - LEVEL) / 2
    return Answers(name="equivalence", found=np.asarray(found))


def _anytime(simulated: _Simulated) -> Answers:
    """Held means held at every look; found means that some look excluded 0."""
    low, high = anytime_limits(simulated.units, level=LEVEL)
    return _all_looks("anytime-t", simulated, low, high)


def _peeking(simulated: _Simulated) -> Answers:
    """What Student's t does to whoever looks after each position from the third on."""
    units = simulated.units
    looks = [limits(units[:, :n], level=LEVEL) for n in range(3, units.shape[1] + 1)]
    low, high = np.stack(looks, axis=-1)
    return _all_looks("t at each look", simulated, low, high)


def _all_looks(name: str, simulated: _Simulated, low: FloatArray, high: FloatArray) -> Answers:
    # The intersection of all looks holds the truth where each of them does.
    return Answers(
        name=name,
        truth=simulated.truth,
        estimate=simulated.units.mean(axis=1),
        low=low.max(axis=1),
        high=high.min(axis=1),
        found=np.asarray(((low > 0.0) | (high < 0.0)).any(axis=1)),
    )


def _change(simulated: _Simulated) -> Answers:
    """From a second run without a gap, whose positions share nothing with the first's."""
    setting, studies = simulated.setting, len(simulated.units)
    before = draw(setting.world, 0.0, setting.clusters, studies, simulated.rng).differences
    changes = mean_of_present(simulated.tables - mean_of_present(before))
    truth = simulated.truth - true_gap(setting.world, 0.0, setting.clusters)
    found = limits(changes, level=LEVEL)
    return _interval("change", truth, changes.mean(axis=1), found, _differ(changes))


def _compliance(simulated: _Simulated) -> Iterator[Answers]:
    """A reply keeps the contract where it scores above 1."""
    setting = simulated.setting
    kept = simulated.studies.true > 1.0
    truth = success_gap(setting.world, setting.gap, setting.clusters)
    a, b = kept.mean(axis=(3, 4))
    units, cells = a - b, int(np.prod(kept.shape[2:]))
    estimate = units.mean(axis=1)
    flat = kept.reshape(2, len(units), -1)
    tables = np.stack(
        (flat[0] & flat[1], flat[0] & ~flat[1], ~flat[0] & flat[1], ~flat.any(axis=0))
    )
    scores = [newcombe_paired(*map(int, table)) for table in tables.sum(axis=2).T]
    score = np.array([(interval.low, interval.high) for interval in scores]).T
    differ = _differ(units)
    default = np.where(differ, rate_gap_limits(a, b, cells, LEVEL), score)
    yield _interval("compliance", truth, estimate, default)
    yield _interval("compliance, t", truth, estimate, limits(units, level=LEVEL), differ)
    yield _interval("compliance, pairs", truth, estimate, score)


def _with_labels(simulated: _Simulated) -> Iterator[Answers]:
    """The gap on the people's scale, which a faultless judge would read."""
    setting, studies = simulated.setting, simulated.studies
    own = setting.gap
    alone = _mean(simulated, DEFAULT)
    yield msgspec.structs.replace(alone, name="judge alone, true gap", truth=own)
    shape = studies.true.shape[2:]
    where, what, _ = np.indices(shape).reshape(3, -1)
    weights = nested_weights(where, what)
    read, true = (arms.reshape(*arms.shape[:2], -1) for arms in (studies.read, studies.true))
    labelled = simulated.rng.random(true.shape).argsort(axis=-1) < LABELLED * true.shape[-1]
    human = np.where(labelled, true, np.nan)
    for name, trust in (("ppi++", None), ("ppi", 1.0), ("labels alone", 0.0)):
        arms = [
            arm_means(judge, people, weights, where, setting.clusters, trust)
            for judge, people in zip(read, human, strict=True)
        ]
        estimate, variance = powered_difference(*arms)
        half = t_quantile(LEVEL, setting.clusters - 1) * np.sqrt(variance)
        found = np.stack((estimate - half, estimate + half))
        yield _interval(name, own, estimate, found, variance > 1e-24)
