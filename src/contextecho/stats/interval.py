"""An interval, with what is needed to read it."""

from __future__ import annotations

import msgspec


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A confidence interval; `low` and `high` are NaN-free."""

    low: float
    high: float
    level: float  # nominal coverage, 0.95
    method: str  # "cluster-t", "percentile", ...
