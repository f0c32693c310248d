"""Keeping what was collected, in SQLite or PostgreSQL: replies, verdicts, attempts, runs."""

from __future__ import annotations

from contextecho.store.model import (
    Batch,
    BatchItem,
    BatchState,
    Ledger,
    RunInfo,
    Spend,
    StoredReply,
    Verdict,
)
from contextecho.store.opening import find_store, open_store
from contextecho.store.store import Store

__all__ = [
    "Batch",
    "BatchItem",
    "BatchState",
    "Ledger",
    "RunInfo",
    "Spend",
    "Store",
    "StoredReply",
    "Verdict",
    "find_store",
    "open_store",
]
