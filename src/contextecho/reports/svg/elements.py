"""SVG elements as escaped text, and the parts that every figure has.

An attribute's underscore becomes a hyphen (`text_anchor`) and a trailing one is
dropped (`class_`). Text and attributes are made visible and escaped here, once.
A figure is a group of focusable rows, each an image with its own label: an
image may not hold anything focusable, so the outer element is not one.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from contextecho.counting import counted
from contextecho.reports.figures import Described, Mark
from contextecho.reports.palette import LOOKS, series_class, series_name
from contextecho.reports.typeset import estimate
from contextecho.untrusted import make_visible

Attribute = str | float | None
_SIZE = 5.0
STROKE = 9.0  # half the stroke across a mark without spread


def tag(name: str, *children: str | Markup, **attributes: Attribute) -> Markup:
    """One element; children that are not Markup are escaped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup().join(c if isinstance(c, Markup) else escape(make_visible(c)) for c in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")


def text(x: float, y: float, words: str, class_: str, anchor: str = "start") -> Markup:
    """A line of text on a baseline."""
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def canvas(figure: Described, width: float, height: float, parts: Iterable[Markup]) -> Markup:
    """The outer element with its name and description for screen readers."""
    about = f"{figure.id}-desc"
    return tag(
        "svg",
        tag("desc", f"{figure.finding} {figure.caption}", id=about),
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        role="group",
        aria_labelledby=f"{figure.id}-title",
        aria_describedby=about,
        style=f"min-width:{min(width, 720):g}px;max-width:{width * 1.1:g}px",
    )


def spoken(mark: Mark) -> str:
    """A mark in words: `control, P03: 2.31 [2.05, 2.57], 5 of 5 replies`."""
    planned = counted(mark.planned, mark.unit)
    said = estimate(mark.value, mark.low, mark.high, mark.quantity)
    why = f" ({mark.note})" if mark.note else ""
    return f"{mark.label}: {said}, {mark.n:,} of {planned}{why}"


def focus_row(label: str, marks: Iterable[Mark], *children: Markup) -> Markup:
    """A group that the keyboard reaches and a screen reader reads as one image."""
    words = "\n".join([label, *(spoken(mark) for mark in marks)])
    return tag("g", *children, class_="row", tabindex="0", role="img", aria_label=words)


def glyph(mark: Mark, x: float, y: float, bar: Markup) -> Markup:
    """The shape of a mark's series at a point, over its interval bar, with its numbers as data."""
    return tag(
        "g",
        bar,
        shape(mark.series, x, y),
        class_=f"mark {series_class(mark.series)}",
        data_tip=spoken(mark),
        data_label=mark.label,
        data_value=_exact(mark.value),
        data_low=_exact(mark.low),
        data_high=_exact(mark.high),
    )


# Outlines around the origin for a size of 1; a cross is drawn, the others are filled.
_OUTLINES = {
    "triangle": ((0.0, -1.15), (1.15, 0.85), (-1.15, 0.85)),
    "square": ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)),
    "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    "wedge": ((0.0, 1.15), (1.15, -0.85), (-1.15, -0.85)),
    "cross": ((-0.9, -0.9), (0.9, 0.9), (0.0, 0.0), (0.9, -0.9), (-0.9, 0.9)),
}


def shape(series: str, x: float, y: float, size: float = _SIZE) -> Markup:
    """The glyph of a series, drawn in the colour of the element around it."""
    kind = LOOKS[series].shape
    if kind == "circle":
        return tag("circle", cx=x, cy=y, r=size, class_="glyph")
    points = " ".join(f"{x + size * dx:.2f},{y + size * dy:.2f}" for dx, dy in _OUTLINES[kind])
    if kind == "cross":
        return tag("polyline", points=points, class_="glyph open")
    return tag("polygon", points=points, class_="glyph")


def legend(series: Iterable[str], x: float, y: float) -> list[Markup]:
    """Shape and name of each series in one line."""
    parts = []
    for name in series:
        parts.append(tag("g", shape(name, x, y - 4), class_=f"mark {series_class(name)}"))
        parts.append(text(x + 11, y, series_name(name), "legend"))
        x += 34 + 7.0 * len(series_name(name))
    return parts


def shorten(words: str, limit: int) -> str:
    """`words`, cut to `limit` characters with an ellipsis; tables hold the whole."""
    seen = make_visible(words)
    return seen if len(seen) <= limit else seen[: limit - 1] + "…"


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return str(escape(make_visible(value)))
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _exact(value: float | None) -> str | None:
    return None if value is None else repr(value)
