"""Which cells to collect: studies as data, plans as lists of cells."""

from __future__ import annotations

from contextecho.studies.levels import studies_of
from contextecho.studies.loading import load_study, study_ids
from contextecho.studies.model import (
    Cell,
    ContrastSpec,
    Level,
    Origin,
    Plan,
    Registered,
    Study,
)
from contextecho.studies.planning import make_plan
from contextecho.studies.prereg import (
    Amends,
    Frozen,
    Lock,
    Parts,
    changed_parts,
    differences,
    freeze,
    lock,
    parts_of,
    read_chain,
    registered,
    write_lock,
)

__all__ = [
    "Amends",
    "Cell",
    "ContrastSpec",
    "Frozen",
    "Level",
    "Lock",
    "Origin",
    "Parts",
    "Plan",
    "Registered",
    "Study",
    "changed_parts",
    "differences",
    "freeze",
    "load_study",
    "lock",
    "make_plan",
    "parts_of",
    "read_chain",
    "registered",
    "studies_of",
    "study_ids",
    "write_lock",
]
