"""Collecting: ordering, concurrency, retries, budget, progress, estimates."""

from __future__ import annotations

from contextecho.engine.asking import Collection, Reason, Work, ask_requests, run_in_loop
from contextecho.engine.batches import DEFAULT_PACE, BatchPace, collect_in_batches
from contextecho.engine.budget import Budget, Purse
from contextecho.engine.collect import collect
from contextecho.engine.deadline import parse_deadline
from contextecho.engine.estimate import Estimate, Range, TargetEstimate, estimate_plan
from contextecho.engine.pace import DEFAULT_LIMITS, Limits
from contextecho.engine.progress import Progress, Tally, open_progress
from contextecho.engine.spread import Place, check_place, collect_on

__all__ = [
    "DEFAULT_LIMITS",
    "DEFAULT_PACE",
    "BatchPace",
    "Budget",
    "Collection",
    "Estimate",
    "Limits",
    "Place",
    "Progress",
    "Purse",
    "Range",
    "Reason",
    "Tally",
    "TargetEstimate",
    "Work",
    "ask_requests",
    "check_place",
    "collect",
    "collect_in_batches",
    "collect_on",
    "estimate_plan",
    "open_progress",
    "parse_deadline",
    "run_in_loop",
]
