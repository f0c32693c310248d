"""What the independent observations are: the one owner of cluster identity.

Definition 1 of the first paper is a nested mean: paraphrases within a stimulus,
stimuli within a position, and the positions weighted equally:

    Delta(t) = 1/|P| sum_p 1/n sum_i d(t, p, i)        one position t
    Delta    = 1/T   sum_t Delta(t)                    over positions

So every estimate here is the plain mean of *units*, and its uncertainty comes
from how much the units differ. The units are the clusters (positions, or
sessions when there are several); where there is only one cluster, its stimuli;
where there is only one stimulus, the observations themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = Sequence[Hashable] | NDArray[Any]

_FEW_CLUSTERS = 6  # below it, no sign-flip p can reach 0.05 either (docs/statistics.md)


class Unit(StrEnum):
    """What is taken as independent."""

    CLUSTER = "cluster"
    STIMULUS = "stimulus"
    OBSERVATION = "observation"

    @property
    def plural(self) -> str:
        """For sentences."""
        return "stimuli" if self is Unit.STIMULUS else f"{self}s"


class Units(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Unit means, and what they were made from."""

    means: FloatArray  # (k,)
    unit: Unit
    clusters: int
    observations: int
    scale: float  # largest |observation|: differences below 1e-12 of it are rounding
    empty: int  # cluster x stimulus combinations without an observation

    @property
    def note(self) -> str | None:
        """What a reader of an interval over these units must know."""
        notes = []
        if few := few_clusters(self.clusters):
            notes.append(few)
        elif len(self.means) > 1 and self.clusters == 1:
            notes.append(
                f"one cluster: its {len(self.means)} {self.unit.plural} are the units, "
                "and nothing here reaches beyond it"
            )
        if self.empty:
            notes.append(
                f"{self.empty} cluster x stimulus cells are empty: "
                "those clusters average over the stimuli they have"
            )
        return "; ".join(notes) or None


def few_clusters(clusters: int) -> str | None:
    """What to say of an interval over so few clusters, if they are few."""
    if not 1 < clusters < _FEW_CLUSTERS:
        return None
    return (
        f"only {clusters} clusters: the interval is wide, "
        "and still too narrow if few of them carry the effect"
    )


def unit_means(
    values: ArrayLike, clusters: Labels | None = None, stimuli: Labels | None = None
) -> Units:
    """Average observations into units, weighted as in Definition 1.

    `values` (n,) finite numbers; `clusters` and `stimuli` (n,) labels, None for
    a single one. Units come in the order in which they are first seen. Raises
    `ValueError` on unequal lengths or a number that is not finite.
    """
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    if not np.isfinite(data).all():
        raise ValueError("values must be finite; leave missing ones out")
    cluster, n_clusters = label_codes(clusters, n)
    stimulus, n_stimuli = label_codes(stimuli, n)
    cells, cell_of = np.unique(cluster * max(n_stimuli, 1) + stimulus, return_inverse=True)
    cell_means = _group_means(data, cell_of, len(cells))
    if n_clusters > 1:
        cell_cluster = cells // n_stimuli
        means, unit = _group_means(cell_means, cell_cluster, n_clusters), Unit.CLUSTER
    elif n_stimuli > 1:
        means, unit = cell_means, Unit.STIMULUS
    else:
        means, unit = data, Unit.OBSERVATION
    return Units(
        means=means,
        unit=unit,
        clusters=n_clusters,
        observations=n,
        scale=float(np.abs(data).max(initial=0.0)),
        empty=n_clusters * n_stimuli - len(cells),
    )


def cell_table(values: FloatArray, clusters: IntArray, stimuli: IntArray) -> FloatArray:
    """Mean of `values` (n,) in each (cluster, stimulus), by code; NaN where there is none."""
    shape = int(clusters.max(initial=-1)) + 1, int(stimuli.max(initial=-1)) + 1
    cell = clusters * shape[1] + stimuli
    counts = np.bincount(cell, minlength=shape[0] * shape[1])
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1])
    with np.errstate(invalid="ignore"):
        return np.asarray((sums / counts).reshape(shape))


def nested_weights(clusters: IntArray, stimuli: IntArray) -> FloatArray:
    """The weight of each observation (n,) in Definition 1, by code; they add to 1."""
    cells = clusters * (int(stimuli.max(initial=-1)) + 1) + stimuli
    _, first, cell, inside = np.unique(
        cells, return_index=True, return_inverse=True, return_counts=True
    )
    own = clusters[first]  # the cluster of each cell
    in_cluster = np.bincount(own)
    weight = 1.0 / (np.count_nonzero(in_cluster) * in_cluster[own] * inside)
    return np.asarray(weight[cell], dtype=np.float64)


def label_codes(labels: Labels | None, n: int) -> tuple[IntArray, int]:
    """Labels (n,) as codes 0..k-1 in order of appearance, and k; None is one label for all."""
    if labels is None:
        return np.zeros(n, dtype=np.int64), min(n, 1)
    if len(labels) != n:
        raise ValueError(f"{len(labels)} labels for {n} values")
    seen: dict[Hashable, int] = {}
    each = labels.tolist() if isinstance(labels, np.ndarray) else labels
    codes = [seen.setdefault(label, len(seen)) for label in each]
    return np.array(codes, dtype=np.int64), len(seen)


def _group_means(values: FloatArray, groups: IntArray, k: int) -> FloatArray:
    """Mean of `values` (n,) in each of `k` groups, none of them empty."""
    sums = np.bincount(groups, weights=values, minlength=k)
    return np.asarray(sums / np.bincount(groups, minlength=k), dtype=np.float64)
