"""Which cells to collect: studies as data, plans as lists of cells."""

from __future__ import annotations

from contextecho.studies.levels import studies_of
from contextecho.studies.loading import load_study, study_ids
from contextecho.studies.model import Cell, ContrastSpec, Level, Origin, Plan, Study
from contextecho.studies.planning import make_plan

__all__ = [
    "Cell",
    "ContrastSpec",
    "Level",
    "Origin",
    "Plan",
    "Study",
    "load_study",
    "make_plan",
    "studies_of",
    "study_ids",
]
