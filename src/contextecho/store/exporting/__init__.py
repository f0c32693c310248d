"""Runs as files for others: tables in JSONL or Parquet, and the published release's tree."""

from __future__ import annotations

from contextecho.store.exporting.released import export_tree
from contextecho.store.exporting.tables import FORMATS, export_tables

__all__ = ["FORMATS", "export_tables", "export_tree"]
