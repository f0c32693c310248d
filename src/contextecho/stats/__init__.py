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
    "CrossedGap",
    "Direction",
    "DirectionAgreement",
    "Equivalence",
    "GapEstimate",
    "IndependentChange",
    "Interval",
    "MeanEstimate",
    "Method",
    "MixedMean",
    "Pairs",
    "PermutationResult",
    "PredictionPowered",
    "Promise",
    "PublishedEstimate",
    "RankShift",
    "RatioEstimate",
    "Readings",
    "Record",
    "Setting",
    "Share",
    "Stop",
    "Unit",
    "Watch",
    "agreement",
    "auc",
    "auc_by_chance",
    "cluster_mean_interval",
    "clusters_needed",
    "crossed_gap",
    "direction_agreement",
    "direction_of",
    "drift_gap",
    "equivalence",
    "gap_change",
    "gap_power",
    "geometric_ratio",
    "holm",
    "independent_change",
    "krippendorff_alpha",
    "minimum_detectable_gap",
    "mixed_mean",
    "newcombe",
    "newcombe_paired",
    "pair_cells",
    "paired_score_interval",
    "pca",
    "prediction_powered_gap",
    "promises",
    "proportion_gap",
    "proportion_mean",
    "published_mean",
    "published_onset_gap",
    "published_ratio",
    "ratio_of_means",
    "score_interval",
    "settings",
    "sign_flip_p",
    "stratified_rank_shift",
    "validate_setting",
    "watch_gap",
    "worlds",
]

if TYPE_CHECKING:
    from contextecho.stats.agreement import Agreement, agreement, krippendorff_alpha
    from contextecho.stats.change import IndependentChange, gap_change, independent_change
    from contextecho.stats.components import Components, pca
    from contextecho.stats.crossed import CrossedGap, crossed_gap
    from contextecho.stats.directions import (
        Direction,
        DirectionAgreement,
        direction_agreement,
        direction_of,
    )
    from contextecho.stats.gap import (
        GapEstimate,
        MeanEstimate,
        Method,
        cluster_mean_interval,
        drift_gap,
    )
    from contextecho.stats.mixed import MixedMean, mixed_mean
    from contextecho.stats.pairs import CellKey, Pairs, pair_cells
    from contextecho.stats.permutation import PermutationResult, holm, sign_flip_p
    from contextecho.stats.power import clusters_needed, gap_power, minimum_detectable_gap
    from contextecho.stats.prediction_powered import (
        PredictionPowered,
        Readings,
        prediction_powered_gap,
    )
    from contextecho.stats.proportion import proportion_gap, proportion_mean
    from contextecho.stats.published import (
        PublishedEstimate,
        published_mean,
        published_onset_gap,
        published_ratio,
    )
    from contextecho.stats.ratio import RatioEstimate, geometric_ratio, ratio_of_means
    from contextecho.stats.score_intervals import paired_score_interval, score_interval
    from contextecho.stats.separation import AucEstimate, auc, auc_by_chance
    from contextecho.stats.sequential import Stop, Watch, watch_gap
    from contextecho.stats.simulated.validation import (
        Promise,
        Record,
        Share,
        promises,
        validate_setting,
    )
    from contextecho.stats.simulated.worlds import Setting, settings, worlds
    from contextecho.stats.stratified import RankShift, stratified_rank_shift
    from contextecho.stats.tost import Equivalence, equivalence
    from contextecho.stats.units import Unit
    from contextecho.stats.wilson import newcombe, newcombe_paired
else:
    _HOMES = {
        "agreement": ("Agreement", "agreement", "krippendorff_alpha"),
        "change": ("IndependentChange", "gap_change", "independent_change"),
        "components": ("Components", "pca"),
        "crossed": ("CrossedGap", "crossed_gap"),
        "directions": ("Direction", "DirectionAgreement", "direction_agreement", "direction_of"),
        "gap": ("GapEstimate", "MeanEstimate", "Method", "cluster_mean_interval", "drift_gap"),
        "mixed": ("MixedMean", "mixed_mean"),
        "pairs": ("CellKey", "Pairs", "pair_cells"),
        "permutation": ("PermutationResult", "holm", "sign_flip_p"),
        "power": ("clusters_needed", "gap_power", "minimum_detectable_gap"),
        "prediction_powered": ("PredictionPowered", "Readings", "prediction_powered_gap"),
        "proportion": ("proportion_gap", "proportion_mean"),
        "published": (
            "PublishedEstimate",
            "published_mean",
            "published_onset_gap",
            "published_ratio",
        ),
        "ratio": ("RatioEstimate", "geometric_ratio", "ratio_of_means"),
        "score_intervals": ("paired_score_interval", "score_interval"),
        "separation": ("AucEstimate", "auc", "auc_by_chance"),
        "sequential": ("Stop", "Watch", "watch_gap"),
        "simulated.validation": ("Promise", "Record", "Share", "promises", "validate_setting"),
        "simulated.worlds": ("Setting", "settings", "worlds"),
        "stratified": ("RankShift", "stratified_rank_shift"),
        "tost": ("Equivalence", "equivalence"),
        "units": ("Unit",),
        "wilson": ("newcombe", "newcombe_paired"),
    }

    def __getattr__(name: str) -> object:
        """Load the module that holds `name` (PEP 562), and keep what it holds."""
        for module, names in _HOMES.items():
            if name in names:
                loaded = import_module(f"{__name__}.{module}")
                globals().update({each: getattr(loaded, each) for each in names})
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
