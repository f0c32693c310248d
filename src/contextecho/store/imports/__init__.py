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
from contextecho.store.imports.model import Finding, ImportedCell, ImportedVerdict, Release
from contextecho.store.imports.tables import IMPORTED, RELEASE

__all__ = [
    "IMPORTED",
    "RELEASE",
    "Finding",
    "ImportedCell",
    "ImportedVerdict",
    "Release",
    "find_release",
    "imported_columns",
    "imported_verdicts",
    "keep_release",
    "release_findings",
    "releases",
    "uncounted_releases",
]
