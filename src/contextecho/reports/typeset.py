"""Numbers as text: the only place of the report that rounds.

Every text a reader meets (HTML, Markdown, tooltips, both renderers' labels)
takes its numbers from here, so that they read alike. A missing number is never
a zero: it is `NOTHING`, and whoever shows it also shows why.
"""

from __future__ import annotations

from enum import StrEnum

from contextecho.stats import Interval

NOTHING = "no estimate"


class Quantity(StrEnum):
    """What kind of number it is, which decides how it is written."""

    SCORE = "score"  # register points
    SHARE = "share"  # 0..1, written in percent
    POINTS = "points"  # difference of shares, written in percentage points
    CHARACTERS = "characters"
    RATIO = "ratio"
    COORDINATE = "coordinate"  # along a principal component
    CHANCE = "chance"  # AUC, agreement: 0..1, two decimals
    RATE = "rate"  # matches per 10,000 characters
    COUNT = "count"  # mean number in a text

    @property
    def neutral(self) -> float | None:
        """The value that means no difference; None where the quantity is not a comparison."""
        return {
            Quantity.SCORE: 0.0,
            Quantity.POINTS: 0.0,
            Quantity.RATIO: 1.0,
            Quantity.COORDINATE: 0.0,
            Quantity.CHANCE: 0.5,
        }.get(self)


def number(value: float | None, quantity: Quantity) -> str:
    """One number with its unit."""
    if value is None:
        return NOTHING
    return _bare(value, quantity) + _unit(quantity)


def estimate(value: float | None, low: float | None, high: float | None, quantity: Quantity) -> str:
    """A number with its interval: `0.42 [0.11, 0.73]`, `83 % [71, 92]`."""
    if value is None:
        return NOTHING
    if low is None or high is None:
        return number(value, quantity)
    return f"{number(value, quantity)} {bracket(low, high, quantity)}"


def estimated(value: float | None, interval: Interval | None, quantity: Quantity) -> str:
    """The same, with an interval as the statistics give it."""
    low, high = (interval.low, interval.high) if interval else (None, None)
    return estimate(value, low, high, quantity)


def bracket(low: float, high: float, quantity: Quantity) -> str:
    """An interval alone: `[0.11, 0.73]`."""
    return f"[{_bare(low, quantity)}, {_bare(high, quantity)}]"


def tick(value: float, quantity: Quantity) -> str:
    """A round number on an axis, with no decimals that it does not need."""
    if quantity in (Quantity.SHARE, Quantity.POINTS):
        return number(value, quantity)
    return f"{value:,.10g}".replace("-", "−") + _unit(quantity)


def p_value(p: float | None) -> str:
    """A p-value without false precision."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def whole(n: int | None) -> str:
    """An integer with thousands separated; a dash where it is not known."""
    return "–" if n is None else f"{n:,}".replace("-", "−")


def listing(words: tuple[str, ...] | list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def sentence(words: str | None) -> str:
    """`words` with a capital and a full stop; nothing stays nothing.

    A first word that may be an identifier (`openai/x`, `local:`, `gap=0.2`) stays as it is.
    """
    if not words:
        return ""
    first = words.split(maxsplit=1)[0] if words.strip() else ""
    start = words[0].upper() if first.rstrip(",").isalpha() else words[0]
    return start + words[1:] + ("" if words[-1] in ".!?" else ".")


def _bare(value: float, quantity: Quantity) -> str:
    if quantity in (Quantity.SHARE, Quantity.POINTS):
        text = f"{100 * value:.0f}"
    elif quantity is Quantity.CHARACTERS:
        text = f"{value:,.0f}"
    elif quantity is Quantity.RATE:
        text = f"{value:,.1f}"
    elif quantity is Quantity.RATIO:
        text = f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    else:
        text = f"{value:.2f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def _unit(quantity: Quantity) -> str:
    return {Quantity.SHARE: " %", Quantity.POINTS: " pp", Quantity.RATIO: "×"}.get(quantity, "")
