"""Principal components of a small feature table, by singular value decomposition.

Columns are standardised first with their own mean and population standard
deviation (divisor n; a constant column becomes zero, its divisor 1), as in
the first paper's fingerprint (section 2.3). A component's sign is arbitrary and
is fixed by rule, so that two runs on the same table agree; where the rule looks
at the arms (`high`), the sign of their difference is no finding, only its size.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from contextecho.stats.units import FloatArray

_ROUNDING = 1e-12


class Components(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The first c components of a table (n, k)."""

    scores: FloatArray  # (n, c)
    loadings: FloatArray  # (k, c), unit columns
    explained: FloatArray  # (c,), shares of the total variance
    centre: FloatArray  # (k,), what was subtracted
    scale: FloatArray  # (k,), what it was divided by


def pca(table: ArrayLike, *, components: int = 2, high: ArrayLike | None = None) -> Components:
    """Components of `table` (n, k), n >= 2.

    Sign: the first component is turned so that the rows marked in `high` (n,)
    bool have the larger mean score; every other (and the first, where `high` is
    None or the means are equal) so that its largest loading is positive. Raises
    `ValueError` for fewer than two rows or columns than `components`, and for
    numbers that are not finite.
    """
    data = np.asarray(table, dtype=np.float64)
    if data.ndim != 2 or data.shape[0] < 2 or data.shape[1] < components:
        raise ValueError(f"a table of at least 2 x {components} is needed, not {data.shape}")
    if not np.isfinite(data).all():
        raise ValueError("the table must hold finite numbers")
    centre, scale = data.mean(axis=0), data.std(axis=0)
    constant = scale <= _ROUNDING * np.maximum(1.0, np.abs(centre))
    scale = np.where(constant, 1.0, scale)
    # What rounding leaves of a constant column must not become a component.
    standard = np.where(constant, 0.0, (data - centre) / scale)
    _, singular, rows = np.linalg.svd(standard, full_matrices=False)
    loadings = np.zeros((data.shape[1], components))
    loadings[:, : len(rows)] = rows[:components].T
    variance = np.zeros(components)
    variance[: len(singular)] = singular[:components] ** 2
    total = float(np.sum(singular**2))
    loadings *= _signs(standard @ loadings, loadings, high)
    return Components(
        scores=standard @ loadings,
        loadings=loadings,
        explained=variance / total if total > 0.0 else variance,
        centre=centre,
        scale=scale,
    )


def _signs(scores: FloatArray, loadings: FloatArray, high: ArrayLike | None) -> FloatArray:
    """+1 or -1 for each component, by the rule of `pca`."""
    largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(loadings.shape[1])]
    signs: FloatArray = np.where(largest < 0.0, -1.0, 1.0)
    marked = np.zeros(len(scores), dtype=bool) if high is None else np.asarray(high, dtype=bool)
    if marked.any() and not marked.all():
        apart = scores[marked, 0].mean() - scores[~marked, 0].mean()
        if abs(apart) > _ROUNDING:
            signs[0] = np.sign(apart)
    return signs
