"""What was imported from others, kept apart from what was collected."""

from __future__ import annotations

from contextecho.store.imports.keeping import (
    find_release,
    imported_columns,
    imported_verdicts,
    keep_release,
    release_findings,
    releases,
    uncounted_releases,
)
from contextecho.store.imports.merging import merge_releases
from contextecho.store.imports.model import Finding, ImportedCell, ImportedVerdict, Release
from contextecho.store.imports.tables import IMPORTED

__all__ = [
    "IMPORTED",
    "Finding",
    "ImportedCell",
    "ImportedVerdict",
    "Release",
    "find_release",
    "imported_columns",
    "imported_verdicts",
    "keep_release",
    "merge_releases",
    "release_findings",
    "releases",
    "uncounted_releases",
]
