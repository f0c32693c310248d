"""A target and a judge whose truth is known, for testing the instrument."""

from __future__ import annotations

from contextecho.models.simulated.model import JUDGE_ID, SimulatedJudge, SimulatedModel
from contextecho.models.simulated.process import SimulatedProcess, parse_process

__all__ = ["JUDGE_ID", "SimulatedJudge", "SimulatedModel", "SimulatedProcess", "parse_process"]
