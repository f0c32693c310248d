"""How sure we are: pure functions over arrays. No I/O, nothing of ours below.

Names are loaded when they are first used, so that a room which needs only
`Interval` for its types does not pay for numpy and scipy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from contextecho.stats.interval import Interval

__all__ = [
    "Agreement",
    "AucEstimate",
    "CellKey",
    "Components",
    "GapEstimate",
    "Interval",
    "MeanEstimate",
    "Method",
    "Pairs",
    "PermutationResult",
    "PublishedEstimate",
    "RankShift",
    "RatioEstimate",
    "Unit",
    "agreement",
    "auc",
    "auc_by_chance",
    "cluster_mean_interval",
    "drift_gap",
    "geometric_ratio",
    "holm",
    "krippendorff_alpha",
    "minimum_detectable_gap",
    "newcombe",
    "pair_cells",
    "pca",
    "proportion_gap",
    "proportion_mean",
    "published_mean",
    "published_onset_gap",
    "published_ratio",
    "ratio_of_means",
    "sign_flip_p",
    "stratified_rank_shift",
]

if TYPE_CHECKING:
    from contextecho.stats.agreement import Agreement, agreement, krippendorff_alpha
    from contextecho.stats.components import Components, pca
    from contextecho.stats.gap import (
        GapEstimate,
        MeanEstimate,
        Method,
        cluster_mean_interval,
        drift_gap,
    )
    from contextecho.stats.pairs import CellKey, Pairs, pair_cells
    from contextecho.stats.permutation import PermutationResult, holm, sign_flip_p
    from contextecho.stats.power import minimum_detectable_gap
    from contextecho.stats.proportion import newcombe, proportion_gap, proportion_mean
    from contextecho.stats.published import (
        PublishedEstimate,
        published_mean,
        published_onset_gap,
        published_ratio,
    )
    from contextecho.stats.ratio import RatioEstimate, geometric_ratio, ratio_of_means
    from contextecho.stats.separation import AucEstimate, auc, auc_by_chance
    from contextecho.stats.stratified import RankShift, stratified_rank_shift
    from contextecho.stats.units import Unit
else:
    _HOMES = {
        "agreement": ("Agreement", "agreement", "krippendorff_alpha"),
        "components": ("Components", "pca"),
        "gap": ("GapEstimate", "MeanEstimate", "Method", "cluster_mean_interval", "drift_gap"),
        "pairs": ("CellKey", "Pairs", "pair_cells"),
        "permutation": ("PermutationResult", "holm", "sign_flip_p"),
        "power": ("minimum_detectable_gap",),
        "proportion": ("newcombe", "proportion_gap", "proportion_mean"),
        "published": (
            "PublishedEstimate",
            "published_mean",
            "published_onset_gap",
            "published_ratio",
        ),
        "ratio": ("RatioEstimate", "geometric_ratio", "ratio_of_means"),
        "separation": ("AucEstimate", "auc", "auc_by_chance"),
        "stratified": ("RankShift", "stratified_rank_shift"),
        "units": ("Unit",),
    }

    def __getattr__(name: str) -> object:
        """Load the module that holds `name` (PEP 562), and keep what it holds."""
        for module, names in _HOMES.items():
            if name in names:
                loaded = import_module(f"{__name__}.{module}")
                globals().update({each: getattr(loaded, each) for each in names})
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
