"""How sure we are: pure functions over arrays. No I/O, nothing of ours below."""

from __future__ import annotations

from contextecho.stats.interval import Interval

__all__ = ["Interval"]
