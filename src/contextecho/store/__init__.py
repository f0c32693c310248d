"""Keeping what was collected: one SQLite file, replies, verdicts, attempts, runs."""

from __future__ import annotations

from contextecho.store.model import RunInfo, StoredReply, Verdict

__all__ = ["RunInfo", "StoredReply", "Verdict"]
