"""From values to pixels, and where ticks stand."""

from __future__ import annotations

import math
from collections.abc import Callable

from contextecho.report.figures import Axis

Scale = Callable[[float], float]


def scale(axis: Axis, start: float, end: float) -> Scale:
    """The map from a value to a coordinate between `start` (axis.low) and `end` (axis.high)."""

    def measure(value: float) -> float:
        return math.log10(value) if axis.log else value

    low, high = measure(axis.low), measure(axis.high)
    width = (high - low) or 1.0
    return lambda value: start + (measure(value) - low) / width * (end - start)


def ticks(axis: Axis) -> tuple[float, ...]:
    """Round values inside the axis, about five of them."""
    if axis.log:
        for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            found = _log_ticks(axis.low, axis.high, steps)
            if len(found) >= 3:
                return found
    return _linear_ticks(axis.low, axis.high)


def _linear_ticks(low: float, high: float) -> tuple[float, ...]:
    rough = (high - low) / 5 or 1.0
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(s * magnitude for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * magnitude >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(k * step, 10) for k in range(first, last + 1))


def _log_ticks(low: float, high: float, steps: tuple[float, ...]) -> tuple[float, ...]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = (step * 10.0**decade for decade in decades for step in steps)
    return tuple(v for v in values if low <= v <= high)
