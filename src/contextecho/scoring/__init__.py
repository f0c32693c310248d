"""What an answer means: the judge, compliance, the fingerprint, contrasts, the screen.

Names are loaded when they are first used, so that a light command which needs one
check or one type does not pay for numpy and the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = [
    "FEATURE_HEADS",
    "LABEL",
    "NOTABLE_AUC",
    "OVERALL",
    "SCREEN_TEXTS",
    "SIGNIFICANCE",
    "SMALLEST_THIRD",
    "TRAJECTORY_STEPS",
    "ArmMean",
    "Billing",
    "Change",
    "Compliance",
    "Contrast",
    "Denominator",
    "Example",
    "Features",
    "FingerprintMap",
    "FingerprintPoint",
    "GapChange",
    "Guard",
    "JudgeAgreement",
    "JudgeMirror",
    "Judgement",
    "Judging",
    "Measure",
    "Outcome",
    "Outlook",
    "Part",
    "Registration",
    "Rubric",
    "RunAnalysis",
    "ScoredCell",
    "Screen",
    "Screened",
    "SeriesAnalysis",
    "SessionSpread",
    "Shift",
    "ShownReply",
    "Standing",
    "Stratum",
    "Suitability",
    "Timing",
    "Verification",
    "Verified",
    "Voice",
    "Window",
    "analyse_run",
    "analyse_series",
    "check_compliance",
    "find_series",
    "heads_standing_out",
    "in_shown_unit",
    "judge_run",
    "keep_to",
    "lacking",
    "load_rubric",
    "measure_features",
    "most_texts",
    "next_command",
    "parts_for",
    "read_judgement",
    "refuse_unregistered",
    "repeated",
    "rubric_ids",
    "score_run",
    "screen_all",
    "screen_session",
    "suitability_of",
    "verify",
    "worth_first",
]

if TYPE_CHECKING:
    from contextecho.scoring.analysis import analyse_run, score_run
    from contextecho.scoring.compliance import check_compliance
    from contextecho.scoring.contract import Compliance
    from contextecho.scoring.features import Features, measure_features
    from contextecho.scoring.judge import Judging, judge_run
    from contextecho.scoring.judgement import Judgement, read_judgement
    from contextecho.scoring.model import (
        OVERALL,
        ArmMean,
        Billing,
        Contrast,
        Denominator,
        Example,
        FingerprintMap,
        FingerprintPoint,
        GapChange,
        Guard,
        JudgeAgreement,
        JudgeMirror,
        Measure,
        RunAnalysis,
        SessionSpread,
        ShownReply,
    )
    from contextecho.scoring.prereg import keep_to, parts_for
    from contextecho.scoring.registration import (
        Registration,
        Standing,
        refuse_unregistered,
    )
    from contextecho.scoring.rubric import Rubric, load_rubric, rubric_ids
    from contextecho.scoring.scores import Outcome, ScoredCell
    from contextecho.scoring.screen import LABEL, Outlook, Screen, Window, screen_session
    from contextecho.scoring.screening import Screened, screen_all
    from contextecho.scoring.series import Part, SeriesAnalysis, analyse_series, find_series
    from contextecho.scoring.shifts import (
        NOTABLE_AUC,
        SIGNIFICANCE,
        SMALLEST_THIRD,
        Change,
        Shift,
        Stratum,
    )
    from contextecho.scoring.shown import FEATURE_HEADS, in_shown_unit
    from contextecho.scoring.suitability import (
        SCREEN_TEXTS,
        TRAJECTORY_STEPS,
        Suitability,
        suitability_of,
    )
    from contextecho.scoring.verifying import Timing, Verification, Verified, verify
    from contextecho.scoring.voices import Voice
    from contextecho.scoring.worth import (
        heads_standing_out,
        lacking,
        most_texts,
        next_command,
        repeated,
        worth_first,
    )
else:
    _HOMES = {
        "analysis": ("analyse_run", "score_run"),
        "compliance": ("check_compliance",),
        "contract": ("Compliance",),
        "features": ("Features", "measure_features"),
        "judge": ("Judging", "judge_run"),
        "judgement": ("Judgement", "read_judgement"),
        "model": (
            "OVERALL",
            "ArmMean",
            "Billing",
            "Contrast",
            "Denominator",
            "Example",
            "FingerprintMap",
            "FingerprintPoint",
            "GapChange",
            "Guard",
            "JudgeAgreement",
            "JudgeMirror",
            "Measure",
            "RunAnalysis",
            "SessionSpread",
            "ShownReply",
        ),
        "prereg": ("keep_to", "parts_for"),
        "registration": ("Registration", "Standing", "refuse_unregistered"),
        "rubric": ("Rubric", "load_rubric", "rubric_ids"),
        "scores": ("Outcome", "ScoredCell"),
        "screen": ("LABEL", "Outlook", "Screen", "Window", "screen_session"),
        "screening": ("Screened", "screen_all"),
        "series": ("Part", "SeriesAnalysis", "analyse_series", "find_series"),
        "shifts": (
            "NOTABLE_AUC",
            "SIGNIFICANCE",
            "SMALLEST_THIRD",
            "Change",
            "Shift",
            "Stratum",
        ),
        "shown": ("FEATURE_HEADS", "in_shown_unit"),
        "verifying": ("Timing", "Verification", "Verified", "verify"),
        "voices": ("Voice",),
        "suitability": ("SCREEN_TEXTS", "TRAJECTORY_STEPS", "Suitability", "suitability_of"),
        "worth": (
            "heads_standing_out",
            "lacking",
            "most_texts",
            "next_command",
            "repeated",
            "worth_first",
        ),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
