"""What an answer means: the judge, compliance, the fingerprint, contrasts, the screen.

Names are loaded when they are first used, so that a light command which needs one
check or one type does not pay for numpy and the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = [
    "OVERALL",
    "TRAJECTORY_STEPS",
    "ArmMean",
    "Billing",
    "Compliance",
    "Contrast",
    "Denominator",
    "Example",
    "Features",
    "FingerprintMap",
    "FingerprintPoint",
    "Guard",
    "JudgeAgreement",
    "JudgeMirror",
    "Judgement",
    "Judging",
    "Measure",
    "Outcome",
    "Outlook",
    "Rubric",
    "RunAnalysis",
    "ScoredCell",
    "Screen",
    "Shift",
    "ShownReply",
    "Stratum",
    "Suitability",
    "Voice",
    "Window",
    "analyse_run",
    "check_compliance",
    "judge_run",
    "lacking_texts",
    "load_rubric",
    "measure_features",
    "read_judgement",
    "rubric_ids",
    "score_run",
    "screen_session",
    "suitability_of",
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
        Guard,
        JudgeAgreement,
        JudgeMirror,
        Measure,
        RunAnalysis,
        ShownReply,
    )
    from contextecho.scoring.rubric import Rubric, load_rubric, rubric_ids
    from contextecho.scoring.scores import Outcome, ScoredCell
    from contextecho.scoring.screen import Outlook, Screen, Window, screen_session
    from contextecho.scoring.shifts import Shift, Stratum
    from contextecho.scoring.suitability import (
        TRAJECTORY_STEPS,
        Suitability,
        lacking_texts,
        suitability_of,
    )
    from contextecho.scoring.voices import Voice
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
            "Guard",
            "JudgeAgreement",
            "JudgeMirror",
            "Measure",
            "RunAnalysis",
            "ShownReply",
        ),
        "rubric": ("Rubric", "load_rubric", "rubric_ids"),
        "scores": ("Outcome", "ScoredCell"),
        "screen": ("Outlook", "Screen", "Window", "screen_session"),
        "shifts": ("Shift", "Stratum"),
        "voices": ("Voice",),
        "suitability": ("TRAJECTORY_STEPS", "Suitability", "lacking_texts", "suitability_of"),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
