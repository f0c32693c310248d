"""What each measure is called, which way it points, and how it is drawn.

The one thing to know: length is stored as log10 of characters, and shown as
characters (a geometric mean) on a log axis; its contrasts are ratios.
"""

from __future__ import annotations

import msgspec

from contextecho.reports.typeset import Quantity
from contextecho.scoring import ArmMean, Measure
from contextecho.stats import Interval


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a reader is told about one measure."""

    name: str
    axis: str
    mean: Quantity
    contrast: Quantity
    bounds: tuple[float, float] | None  # of the axis; None: from the data
    more: str  # "replies in the A arm MORE than in the B arm" when A - B is positive
    less: str


# Its sign says nothing: PC1 is turned so that the session lies higher.
_ELSEWHERE = "lie elsewhere on the first principal component"

READINGS = {
    Measure.REGISTER: Reading(
        name="register",
        axis="mean register score (0 drifted … 3 fully assistant)",
        mean=Quantity.SCORE,
        contrast=Quantity.SCORE,
        bounds=(0.0, 3.0),
        more="score closer to the assistant register",
        less="score further from the assistant register",
    ),
    Measure.FINGERPRINT: Reading(
        name="fingerprint",
        axis="mean of the first principal component",
        mean=Quantity.COORDINATE,
        contrast=Quantity.COORDINATE,
        bounds=None,
        more=_ELSEWHERE,
        less=_ELSEWHERE,
    ),
    Measure.LENGTH: Reading(
        name="length",
        axis="characters per reply (geometric mean, log scale)",
        mean=Quantity.CHARACTERS,
        contrast=Quantity.RATIO,
        bounds=None,
        more="are longer",
        less="are shorter",
    ),
    Measure.COMPLIANCE: Reading(
        name="compliance",
        axis="replies that keep the contract",
        mean=Quantity.SHARE,
        contrast=Quantity.POINTS,
        bounds=(0.0, 1.0),
        more="keep the contract more often",
        less="keep the contract less often",
    ),
}


def shown_mean(
    measure: Measure, mean: float | None, interval: Interval | None
) -> tuple[float | None, float | None, float | None]:
    """(value, low, high) of an arm mean in the unit that is shown."""
    low, high = (interval.low, interval.high) if interval else (None, None)
    if measure is Measure.LENGTH:
        return _power(mean), _power(low), _power(high)
    return mean, low, high


def is_flat(mean: ArmMean) -> bool:
    """Whether an arm mean has no interval because its units, more than one, are all equal."""
    return mean.mean is not None and mean.interval is None and mean.n > 1


def _power(exponent: float | None) -> float | None:
    return None if exponent is None else 10.0**exponent
