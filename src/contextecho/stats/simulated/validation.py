"""What the estimators are worth: bias, coverage, size and power over simulated studies.

A share s over n studies is known to sqrt(s (1 - s) / n), a bias to the standard
deviation of the estimates over sqrt n: the errors beside them. A study without an
interval (no spread, or too few positions for a method) is not counted as covered or
missed; `n` says how many there were. It counts as a study that found nothing.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from contextecho.stats.simulated.estimators import DEFAULT, Answers, answers
from contextecho.stats.simulated.worlds import Setting, worlds

_CHUNK = 1_000_000  # replies of one arm drawn at once


class Share(msgspec.Struct, frozen=True):
    """A share of studies, or a mean over them, with its Monte-Carlo standard error."""

    value: float
    error: float


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What one estimator did in one setting. None: it makes no such statement."""

    world: str
    gap: float
    clusters: int
    estimator: str
    truth: float | None  # the expected value of what it estimates
    bias: Share | None  # mean estimate less truth
    coverage: Share | None  # of the nominal 95% interval
    width: float | None  # median, of the scale's 3 points
    found: Share  # says there is a gap: its size where there is none, else its power
    n: int  # studies with an interval, or a test
    studies: int


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """How the default interval did at so many positions, where what it assumes holds."""

    clusters: int
    lowest: float  # coverage
    highest: float
    largest_size: float  # share that finds a gap where there is none
    settings: int


def promises(records: Iterable[Record]) -> Iterator[Promise]:
    """The default interval's coverage and size by number of positions."""
    assumed = {world.name for world in worlds() if world.as_assumed}
    by_clusters: dict[int, list[Record]] = {}
    for record in records:
        if record.estimator == DEFAULT and record.world in assumed:
            by_clusters.setdefault(record.clusters, []).append(record)
    for clusters, group in sorted(by_clusters.items()):
        covers = [record.coverage.value for record in group if record.coverage]
        yield Promise(
            clusters=clusters,
            lowest=min(covers),
            highest=max(covers),
            largest_size=max(record.found.value for record in group if record.gap == 0.0),
            settings=len(group),
        )


def validate_setting(setting: Setting, *, studies: int, seed: int) -> tuple[Record, ...]:
    """Simulate `studies` studies of a setting; the same seed gives the same records.

    Raises `ValueError` unless there is at least one study.
    """
    if studies < 1:
        raise ValueError(f"at least one study is needed, not {studies}")
    name = f"{setting.world.name}/{setting.gap}/{setting.clusters}"
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    most = max(1, _CHUNK // (setting.clusters * setting.world.wordings * 5))
    tallies: dict[str, list[Answers]] = {}
    for first in range(0, studies, most):
        for said in answers(setting, min(most, studies - first), rng):
            tallies.setdefault(said.name, []).append(said)
    return tuple(_record(setting, said, studies) for said in tallies.values())


def _record(setting: Setting, said: list[Answers], studies: int) -> Record:
    found = np.concatenate([np.asarray(each.found) for each in said])
    truth = said[0].truth
    known = np.ones(studies, dtype=bool)
    bias = coverage = width = None
    if truth is not None:
        low, high, estimate = (
            np.concatenate([np.asarray(getattr(each, name)) for each in said])
            for name in ("low", "high", "estimate")
        )
        known = np.isfinite(low) & np.isfinite(high)
        there = estimate[~np.isnan(estimate)]
        if len(there) > 1:
            bias = Share(float(there.mean() - truth), float(there.std() / math.sqrt(len(there))))
        if known.any():
            low, high = low[known], high[known]
            slack = 1e-9  # a truth of 0 is 0 to rounding only
            coverage = _share((low - slack <= truth) & (truth <= high + slack))
            width = float(np.median(high - low))
    return Record(
        world=setting.world.name,
        gap=setting.gap,
        clusters=setting.clusters,
        estimator=said[0].name,
        truth=truth,
        bias=bias,
        coverage=coverage,
        width=width,
        found=_share(found),
        n=int(known.sum()),
        studies=studies,
    )


def _share(held: np.ndarray) -> Share:
    value = float(held.mean())
    return Share(value, math.sqrt(value * (1.0 - value) / len(held)))
