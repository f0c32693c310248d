"""Paired sign-flip permutation, and Holm's correction over a declared family.

If a contrast does nothing, each unit's difference is as likely to be positive
as negative, so its sign may be flipped at will. Whole units are flipped (see
`units`): with clusters given, all cells of a cluster together, because cells of
one position are not independent. With k units no p below 2 / 2**k exists: five
positions can never reach 0.05.

    statistic   |mean of s_j x_j|, s_j = +-1, x_j the unit means; two-sided
    exact       count / 2**k over all sign patterns, when 2**k <= 2**14
    sampled     (count + 1) / (n + 1) (Phipson and Smyth 2010): never zero,
                unlike the reference implementation's count / n
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.units import FloatArray, Labels, unit_means

_EXACT_UNITS = 14
_CHUNK = 2_000_000  # signs held at once


class PermutationResult(msgspec.Struct, frozen=True, kw_only=True):
    """A two-sided p. `p` is None without observations."""

    p: float | None
    exact: bool
    n: int  # sign patterns evaluated
    units: int  # what was flipped


def sign_flip_p(
    differences: ArrayLike,
    clusters: Labels | None = None,
    *,
    stimuli: Labels | None = None,
    resamples: int = 10_000,
    seed: int = 42,
) -> PermutationResult:
    """Test that the mean difference is zero by flipping the signs of whole units.

    `differences` (n,); `clusters` and `stimuli` (n,) labels, as in `Pairs`:
    given both, the statistic is the drift gap itself. Without labels each
    difference is its own unit.
    """
    means = unit_means(differences, clusters, stimuli).means
    k = len(means)
    if k == 0:
        return PermutationResult(p=None, exact=True, n=0, units=0)
    exact = k <= _EXACT_UNITS
    p = float(flip_p(means[np.newaxis], resamples=resamples, seed=seed)[0])
    return PermutationResult(p=p, exact=exact, n=2**k if exact else resamples, units=k)


def flip_p(means: FloatArray, *, resamples: int = 10_000, seed: int = 42) -> FloatArray:
    """The p (studies,) of each row of `means` (studies, k), all against the same patterns."""
    studies, k = means.shape
    # Equal statistics may differ in the last bit, because sums run in another order.
    observed = np.abs(means.sum(axis=1)) - 1e-12 * np.abs(means).sum(axis=1)
    exact = k <= _EXACT_UNITS
    total = 2**k if exact else resamples
    rng = np.random.default_rng(seed)
    count = np.zeros(studies)
    rows = max(1, _CHUNK // max(k, studies))
    for first in range(0, total, rows):
        number = np.arange(first, min(first + rows, total))
        if exact:
            bits = (number[:, np.newaxis] >> np.arange(k)) & 1
        else:
            bits = rng.integers(0, 2, size=(len(number), k), dtype=np.int8)
        sums = (2.0 * bits - 1.0) @ means.T
        count += np.count_nonzero(np.abs(sums) >= observed, axis=0)
    return count / total if exact else (count + 1.0) / (total + 1.0)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Holm's (1979) step-down adjusted p values, in the order given.

    A None (no test was possible) stays None and is not counted in the family.
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(tested):
        running = max(running, min(1.0, p * (len(tested) - rank)))
        adjusted[i] = running
    return tuple(adjusted)
