"""How a feature is called in a table, and the unit in which its means are read.

The one thing to know: this loads nothing, so that what names a column need not wait for
what computes it.
"""

from __future__ import annotations

# Feature -> its name in a table, in the order of the columns.
FEATURE_HEADS = {
    "log_length": "chars",
    "hedge": "hedges",
    "experiential": "exper.",
    "commitment": "commits",
    "em_dashes": "dashes",
    "breaks": "breaks",
}
_HUNDREDS = 100  # of characters in 10,000: matches are counted per hundred, which are few


def in_shown_unit(feature: str, mean: float) -> float:
    """The mean of a feature as it is shown.

    Length in characters (the geometric mean), hedges and experience in matches per 10,000
    characters, the others as they are: a share of texts, or a number a text.
    """
    if feature == "log_length":
        return float(10.0**mean)
    return mean * _HUNDREDS if feature in ("hedge", "experiential") else mean
