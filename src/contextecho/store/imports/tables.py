"""The tables of imported releases as statements name them, and in which order columns stand."""

from __future__ import annotations

from sqlalchemy import column, table

from contextecho.store.imports.model import Finding, ImportedCell, ImportedVerdict, Release

RELEASE_COLUMNS = Release.__struct_fields__
CELL_COLUMNS = tuple(name for name in ImportedCell.__struct_fields__ if name != "verdicts")
VERDICT_COLUMNS = ImportedVerdict.__struct_fields__
FINDING_COLUMNS = Finding.__struct_fields__

RELEASE = table("release", *map(column, RELEASE_COLUMNS))
IMPORTED_CELL = table("imported_cell", *map(column, ("release", "ordinal", *CELL_COLUMNS)))
IMPORTED_VERDICT = table("imported_verdict", *map(column, ("release", "cell", *VERDICT_COLUMNS)))
FINDING = table("finding", *map(column, ("release", "ordinal", *FINDING_COLUMNS)))

IMPORTED = (RELEASE, IMPORTED_CELL, IMPORTED_VERDICT, FINDING)
"""Parents before children."""
