"""Collecting through providers' batch APIs: the same requests, later and for less."""

from __future__ import annotations

from contextecho.engine.batches.collect import collect_in_batches
from contextecho.engine.batches.pace import DEFAULT_PACE, BatchPace

__all__ = ["DEFAULT_PACE", "BatchPace", "collect_in_batches"]
