"""Keeping what was collected, in SQLite or PostgreSQL: replies, verdicts, attempts, runs."""

from __future__ import annotations

from contextecho.store.checking import Checked, check_store
from contextecho.store.databases import LockedError
from contextecho.store.describing import Contents, describe
from contextecho.store.exporting import export_tables, export_tree
from contextecho.store.imports import (
    Finding,
    ImportedCell,
    ImportedVerdict,
    Release,
    find_release,
    imported_columns,
    imported_verdicts,
    keep_release,
    release_findings,
    releases,
)
from contextecho.store.merging import Merged, merge
from contextecho.store.model import (
    Batch,
    BatchItem,
    BatchState,
    Ledger,
    ReplyTimes,
    RunInfo,
    Spend,
    StoredReply,
    Verdict,
)
from contextecho.store.opening import find_store, open_store
from contextecho.store.store import Store
from contextecho.store.vacuuming import Loose, loose_contexts, vacuum

__all__ = [
    "Batch",
    "BatchItem",
    "BatchState",
    "Checked",
    "Contents",
    "Finding",
    "ImportedCell",
    "ImportedVerdict",
    "Ledger",
    "LockedError",
    "Loose",
    "Merged",
    "Release",
    "ReplyTimes",
    "RunInfo",
    "Spend",
    "Store",
    "StoredReply",
    "Verdict",
    "check_store",
    "describe",
    "export_tables",
    "export_tree",
    "find_release",
    "find_store",
    "imported_columns",
    "imported_verdicts",
    "keep_release",
    "loose_contexts",
    "merge",
    "open_store",
    "release_findings",
    "releases",
    "vacuum",
]
