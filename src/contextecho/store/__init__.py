"""Keeping what was collected: one SQLite file, replies, verdicts, attempts, runs."""

from __future__ import annotations

from contextecho.store.model import Ledger, RunInfo, Spend, StoredReply, Verdict
from contextecho.store.opening import open_store
from contextecho.store.store import Store

__all__ = [
    "Ledger",
    "RunInfo",
    "Spend",
    "Store",
    "StoredReply",
    "Verdict",
    "open_store",
]
