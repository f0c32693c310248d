"""From values to pixels."""

from __future__ import annotations

import math
from collections.abc import Callable

from contextecho.reports.figures import Axis

Scale = Callable[[float], float]


def scale(axis: Axis, start: float, end: float) -> Scale:
    """The map from a value to a coordinate between `start` (axis.low) and `end` (axis.high)."""

    def measure(value: float) -> float:
        return math.log10(value) if axis.log else value

    low, high = measure(axis.low), measure(axis.high)
    width = (high - low) or 1.0
    return lambda value: start + (measure(value) - low) / width * (end - start)
