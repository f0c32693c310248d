"""The first paper's intervals as its reference implementation computes them.

Only for reproducing published numbers: these intervals are per arm, take
positions as exchangeable and correct nothing for small numbers of them. All
draw 10,000 replicates and give the 2.5th and 97.5th percentile. The order of
the random draws is part of the procedure (reference.md, section 4), so that the
same numbers come out to the last digits:

    per replicate: T positions with replacement, then, for each position drawn,
    its cells with replacement (for a ratio: those of the numerator first);
    onset curves: all replicates of the control arm, then all of the session arm.

Compliance in percent is `published_mean` of cells that hold 0 or 100.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.units import FloatArray, IntArray

_REPLICATES = 10_000
_SEED = 42


class PublishedEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """A point estimate with percentile limits and the number of cells."""

    estimate: float
    low: float
    high: float
    n: int


def published_mean(by_position: Sequence[ArrayLike]) -> PublishedEstimate:
    """Mean over positions of the mean over cells; one array of cells (n_t,) a position.

    Raises `ValueError` on a position without cells.
    """
    means, replicates, n = _two_stage([[cells] for cells in by_position])
    return _percentiles(means[:, 0].mean(), replicates[:, :, 0].mean(axis=1), n)


def published_ratio(
    numerator: Sequence[ArrayLike], denominator: Sequence[ArrayLike]
) -> PublishedEstimate:
    """Mean over positions of mean(numerator) / max(1, mean(denominator)), in characters.

    One array of cells a position, the same positions in both arms; `n` counts
    the cells of both. Raises `ValueError` on a position without cells.
    """
    arms = [list(pair) for pair in zip(numerator, denominator, strict=True)]
    means, replicates, n = _two_stage(arms)
    ratio = means[:, 0] / np.maximum(1.0, means[:, 1])
    replicate_ratio = replicates[:, :, 0] / np.maximum(1.0, replicates[:, :, 1])
    return _percentiles(ratio.mean(), replicate_ratio.mean(axis=1), n)


def published_onset_gap(
    control: ArrayLike, session: ArrayLike, rng: np.random.Generator
) -> PublishedEstimate:
    """Difference of the means of two pooled arms, each resampled as independent cells.

    `control` (m,) and `session` (n,) scores at one turn. The reference shares
    one generator, seeded 42, over all targets and turns in order: pass the same
    `rng` to each call.
    """
    a, b = np.asarray(control, dtype=np.float64), np.asarray(session, dtype=np.float64)
    drawn_a, drawn_b = (
        arm[rng.integers(0, len(arm), size=(_REPLICATES, len(arm)))] for arm in (a, b)
    )
    replicates = drawn_a.mean(axis=1) - drawn_b.mean(axis=1)
    return _percentiles(a.mean() - b.mean(), replicates, len(a) + len(b))


def _two_stage(positions: Sequence[Sequence[ArrayLike]]) -> tuple[FloatArray, FloatArray, int]:
    """Resample positions, then the cells of each drawn one, arm after arm.

    `positions` [T][arms] of cells. Returns the cell means (T, arms), those of
    every replicate (replicates, T, arms), and the number of cells.
    """
    arrays = [np.asarray(cells, dtype=np.float64) for arms in positions for cells in arms]
    count, arms = len(positions), len(positions[0]) if positions else 0
    sizes = np.array([len(cells) for cells in arrays], dtype=np.int64)
    if not sizes.size or not sizes.all():
        raise ValueError("every position needs at least one cell")
    cells = np.concatenate(arrays)
    starts = np.cumsum(sizes) - sizes
    # Bounds and offsets of the draws that one position takes, in drawing order.
    bound = np.split(np.repeat(sizes, sizes), starts[arms::arms])
    offset = np.split(np.repeat(starts, sizes), starts[arms::arms])
    rng = np.random.default_rng(_SEED)
    drawn = np.empty((_REPLICATES, count), dtype=np.int64)
    index: list[IntArray] = []
    for row in drawn:
        row[:] = rng.integers(0, count, size=count)
        picks = rng.integers(0, np.concatenate([bound[t] for t in row]))
        index.append(picks + np.concatenate([offset[t] for t in row]))
    lengths = sizes.reshape(count, arms)[drawn]
    replicates = _segment_means(cells[np.concatenate(index)], lengths.ravel())
    means = _segment_means(cells, sizes).reshape(count, arms)
    return means, replicates.reshape(lengths.shape), len(cells)


def _segment_means(values: FloatArray, lengths: IntArray) -> FloatArray:
    """Means of consecutive segments of the given lengths, none of them 0."""
    sums: FloatArray = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    return sums / lengths


def _percentiles(estimate: float, replicates: FloatArray, n: int) -> PublishedEstimate:
    low, high = np.percentile(replicates, [2.5, 97.5])
    return PublishedEstimate(estimate=float(estimate), low=float(low), high=float(high), n=n)
