"""What the first paper prints: its numbers by figure and table, to compare with."""

from __future__ import annotations

from contextecho.paper.values import Exhibit, Relation, Value, exhibits, paper_values

__all__ = ["Exhibit", "Relation", "Value", "exhibits", "paper_values"]
