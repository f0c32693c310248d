"""Which cells to collect: studies as data, plans as lists of cells."""

from __future__ import annotations

from contextecho.studies.model import Cell, ContrastSpec, Plan, Study

__all__ = ["Cell", "ContrastSpec", "Plan", "Study"]
