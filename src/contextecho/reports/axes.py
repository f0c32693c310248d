"""The range of an axis and its ticks: fixed where the measure is bounded, else from the data."""

from __future__ import annotations

import math
from collections.abc import Iterable

from contextecho.reports.figures import Axis, Mark
from contextecho.reports.typeset import Quantity


def reach(marks: Iterable[Mark]) -> list[float]:
    """Every value and interval end of `marks`: what an axis must hold."""
    return [v for m in marks for v in (m.value, m.low, m.high) if v is not None]


def axis_over(
    values: list[float],
    label: str,
    quantity: Quantity,
    *,
    bounds: tuple[float, float] | None = None,
    reference: float | None = None,
) -> Axis:
    """An axis that holds every value, and the reference.

    `bounds` fixes the range, and is widened only if a value leaves it; a share
    lies within 0..1 and is never given more. Characters and ratios are drawn on
    a log axis.
    """
    log = quantity in (Quantity.CHARACTERS, Quantity.RATIO)
    if log:
        exponents = [math.log10(v) for v in values if v > 0]
        low, high = _powers(_span(exponents, None, _log(reference)))
    elif quantity is Quantity.SHARE:
        low, high = 0.0, 1.0
    else:
        low, high = _span(values, bounds, reference)
    return Axis(label=label, quantity=quantity, low=low, high=high, log=log, reference=reference)


def ticks(axis: Axis) -> tuple[float, ...]:
    """Round values inside the axis, about five of them."""
    if axis.log:
        for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            found = _log_ticks(axis.low, axis.high, steps)
            if len(found) >= 3:
                return found
    return _linear_ticks(axis.low, axis.high)


def _span(
    values: list[float], bounds: tuple[float, float] | None, reference: float | None
) -> tuple[float, float]:
    if bounds is not None:
        return min([bounds[0], *values]), max([bounds[1], *values])
    known = values + ([reference] if reference is not None else [])
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def _log(value: float | None) -> float | None:
    return None if value is None else math.log10(value)


def _powers(exponents: tuple[float, float]) -> tuple[float, float]:
    return 10.0 ** exponents[0], 10.0 ** exponents[1]


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
