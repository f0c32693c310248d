"""What each feature of a screen is called, in which unit it is shown, and how it is drawn."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from contextecho.reports.axes import axis_over
from contextecho.reports.figures import Axis
from contextecho.reports.typeset import Quantity, number
from contextecho.scoring import FEATURE_HEADS, Voice, in_shown_unit


class FeatureReading(msgspec.Struct, frozen=True, kw_only=True):
    """How a reader is told about one feature."""

    name: str  # as on the terminal
    unit: str
    quantity: Quantity


_UNITS = {
    "log_length": ("characters, geometric mean", Quantity.CHARACTERS),
    "hedge": ("per 10,000 characters", Quantity.RATE),
    "experiential": ("per 10,000 characters", Quantity.RATE),
    "commitment": ("of texts", Quantity.SHARE),
    "em_dashes": ("a text", Quantity.COUNT),
    "breaks": ("a text", Quantity.COUNT),
}
FEATURE_READINGS = {
    feature: FeatureReading(name=name, unit=_UNITS[feature][0], quantity=_UNITS[feature][1])
    for feature, name in FEATURE_HEADS.items()
}
_MEANINGS = {
    "log_length": "characters of a text",
    "hedge": "words that hedge or disclaim, in English",
    "experiential": "words of first-person experience, in English",
    "commitment": "texts that commit to a choice",
    "em_dashes": "em dashes",
    "breaks": "paragraph breaks",
}
VOICE_NAMES = {
    Voice.FINAL: "Final answers",
    Voice.COMMENTARY: "Commentary between tool calls",
}


def legend_of(features: Collection[str]) -> str:
    """What the names of `features` mean, in the order of the columns."""
    return " ".join(
        f"{reading.name}: {_MEANINGS[feature]}."
        for feature, reading in FEATURE_READINGS.items()
        if feature in features
    )


def written(feature: str, mean: float) -> str:
    """The mean of a feature, from the unit of the screen, with that in which it is shown."""
    return number(in_shown_unit(feature, mean), FEATURE_READINGS[feature].quantity)


def feature_axis(feature: str, values: list[float]) -> Axis:
    """An axis over values in the shown unit: from zero, but for length, which is on a log scale."""
    reading = FEATURE_READINGS[feature]
    highest = max(values, default=0.0)
    return axis_over(values, reading.unit, reading.quantity, bounds=(0.0, 1.06 * highest or 1.0))
