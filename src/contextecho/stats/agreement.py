"""Whether two judges, or one judge twice, read the same replies alike.

No single coefficient is enough: kappa falls when nearly all replies are threes,
AC1 does not, and rank correlation ignores a constant shift. All are given, each
with its n; one that is undefined is None and `undefined` says why.

    exact, within one   shares of |x - y| = 0, <= 1
    kappa               1 - sum w O / sum w E, E from both marginals; w = [x != y]
                        (Cohen 1960) or (x - y)^2 (Cohen 1968)
    AC1                 (p_o - p_e) / (1 - p_e), p_e = sum pi_q (1 - pi_q) / (Q - 1),
                        pi_q the mean marginal of category q (Gwet 2008)
    Spearman            Pearson's r of average ranks: tied scores share a rank
    alpha               1 - D_o / D_e over coincidences, ordinal distances
                        (Krippendorff 2011)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from contextecho.stats.units import FloatArray, IntArray


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of two series of scores on the items that both scored."""

    n: int
    dropped: int  # items that one or both did not score
    exact: float | None
    within_one: float | None
    kappa: float | None
    kappa_quadratic: float | None
    ac1: float | None
    spearman: float | None
    alpha: float | None
    undefined: Mapping[str, str]  # name of a None -> why


def agreement(
    x: Sequence[int | None], y: Sequence[int | None], *, categories: Sequence[int] = (0, 1, 2, 3)
) -> Agreement:
    """Every coefficient for two series of equal length; None marks a missing score.

    `categories` are the values the scale has, in order, used or not. Raises
    `ValueError` on a score outside them.
    """
    both = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    first, second = (_indices([pair[i] for pair in both], categories) for i in (0, 1))
    n, q = len(both), len(categories)
    scores = np.asarray(categories, dtype=np.float64)
    gap = np.abs(scores[first] - scores[second])
    table = np.zeros((q, q))
    np.add.at(table, (first, second), 1.0)
    apart = scores[:, None] - scores[None, :]
    values: dict[str, float | None] = {
        "exact": float((gap == 0).mean()) if n else None,
        "within_one": float((gap <= 1).mean()) if n else None,
        "kappa": _kappa(table, (apart != 0).astype(np.float64)),
        "kappa_quadratic": _kappa(table, apart**2),
        "ac1": _ac1(table),
        "spearman": _spearman(first, second),
        "alpha": krippendorff_alpha([[a for a, _ in both], [b for _, b in both]]),
    }
    reason = "no item was scored by both" if not n else "the scores show no variation to rate"
    undefined = {name: reason for name, value in values.items() if value is None}
    return Agreement(n=n, dropped=len(x) - n, undefined=undefined, **values)


def krippendorff_alpha(ratings: Sequence[Sequence[int | None]]) -> float | None:
    """Krippendorff's ordinal alpha; `ratings` (raters, items), None where a rater was silent.

    None where no two raters scored the same item, or all scores are the same.
    """
    levels = sorted({r for row in ratings for r in row if r is not None})
    index = {level: i for i, level in enumerate(levels)}
    coincidences = np.zeros((len(levels), len(levels)))
    for item in zip(*ratings, strict=True):
        scored = [index[r] for r in item if r is not None]
        if len(scored) < 2:
            continue
        counts = np.bincount(scored, minlength=len(levels)).astype(np.float64)
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(scored) - 1)
    totals = coincidences.sum(axis=0)
    upto = np.cumsum(totals) - totals / 2
    distance = (upto[:, None] - upto[None, :]) ** 2
    expected = np.outer(totals, totals) - np.diag(totals)
    if not (expected * distance).sum() > 0.0:
        return None
    observed = (coincidences * distance).sum() * (totals.sum() - 1)
    return float(1.0 - observed / (expected * distance).sum())


def _indices(scores: Sequence[int], categories: Sequence[int]) -> IntArray:
    """Positions of scores on the scale."""
    index = {category: i for i, category in enumerate(categories)}
    if strange := set(scores) - index.keys():
        raise ValueError(f"{sorted(strange)} not among the categories {list(categories)}")
    return np.array([index[score] for score in scores], dtype=np.int64)


def _kappa(table: FloatArray, disagreement: FloatArray) -> float | None:
    """Weighted kappa of a confusion table; None where chance cannot disagree."""
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n if n else table
    by_chance = (disagreement * expected).sum()
    return float(1.0 - (disagreement * table).sum() / by_chance) if by_chance > 0.0 else None


def _ac1(table: FloatArray) -> float | None:
    """Gwet's AC1 of a confusion table."""
    n, q = table.sum(), len(table)
    if not n or q < 2:
        return None
    share = (table.sum(axis=0) + table.sum(axis=1)) / (2 * n)
    by_chance = (share * (1.0 - share)).sum() / (q - 1)
    return float((np.trace(table) / n - by_chance) / (1.0 - by_chance))


def _spearman(first: IntArray, second: IntArray) -> float | None:
    """Tie-averaged rank correlation; None where a series is constant."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    from scipy.stats import spearmanr  # takes a second to load, and few callers come here

    return float(spearmanr(first, second).statistic)
