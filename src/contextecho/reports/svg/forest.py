"""A forest as SVG: rows of marks with intervals, and numbers in the right margin.

A contrast has a lane of its own below the marks of its row: a line between the
two arms that it compares, each joined to its mark, with name and number beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from contextecho.counting import counted
from contextecho.reports.axes import ticks
from contextecho.reports.figures import Axis, Forest, Mark, Panel, Row, series_of
from contextecho.reports.palette import ESTIMATE
from contextecho.reports.svg.elements import (
    STROKE,
    canvas,
    focus_row,
    glyph,
    legend,
    line,
    shorten,
    tag,
    text,
)
from contextecho.reports.svg.scales import Scale, scale
from contextecho.reports.typeset import estimate, tick

_WIDTH, _LEFT, _MARGIN = 960.0, 200.0, 250.0
_PLOT_RIGHT = _WIDTH - _MARGIN
_LANE, _NOTE, _PAD, _AXIS, _GAP = 17.0, 35.0, 10.0, 44.0, 26.0


def draw_forest(figure: Forest) -> Markup:
    """The figure: a legend if arms are compared, then each panel over its own axis."""
    arms = [name for name in series_of(figure) if name != ESTIMATE]
    parts = legend(arms, _LEFT + 5, 20)
    top = 36.0 if arms else 8.0
    for panel in figure.panels:
        if panel.title:
            parts.append(text(0, top + 12, panel.title.capitalize(), "panel-title"))
            top += 22
        drawn, top = _panel(panel, top)
        parts += drawn
        top += _GAP
    return canvas(figure, _WIDTH, top - _GAP, parts)


def _panel(panel: Panel, top: float) -> tuple[list[Markup], float]:
    heights = [_height(row) for row in panel.rows]
    bottom = top + sum(heights)
    x = scale(panel.axis, _LEFT + 6, _PLOT_RIGHT - 14)
    tops = [top + sum(heights[:i]) for i in range(len(heights))]
    bands = [_band(y, height, "band") for y, height in list(zip(tops, heights, strict=True))[1::2]]
    rows = [_row(*each, x=x) for each in zip(panel.rows, tops, heights, strict=True)]
    return [*bands, *_axis(panel.axis, x, top, bottom), *rows], bottom + _AXIS


def _band(top: float, height: float, class_: str) -> Markup:
    return tag("rect", x=0.0, y=top, width=_WIDTH, height=height, class_=class_)


def _height(row: Row) -> float:
    return _LANE * len(row.marks) + _NOTE * len(row.margin) + (_PAD if row.margin else 5.0)


def _axis(axis: Axis, x: Scale, top: float, bottom: float) -> Iterator[Markup]:
    for value in ticks(axis):
        yield line(x(value), top, x(value), bottom, "grid")
        yield text(x(value), bottom + 17, tick(value, axis.quantity), "tick", "middle")
    yield line(_LEFT, bottom, _PLOT_RIGHT - 8, bottom, "axis")
    if axis.reference is not None:
        at = x(axis.reference)
        yield line(at, top, at, bottom, "reference")
    yield text(_LEFT + 6, bottom + 36, axis.label, "axis-label")


def _row(row: Row, top: float, height: float, *, x: Scale) -> Markup:
    first = top + (_PAD if row.margin else 5.0) / 2
    lanes = [first + (i + 0.5) * _LANE for i in range(len(row.marks))]
    below = first + _LANE * len(row.marks)
    notes = [below + (i + 0.5) * _NOTE for i in range(len(row.margin))]
    places = {
        mark.series: (x(mark.value), y)
        for mark, y in zip(row.marks, lanes, strict=True)
        if mark.value is not None
    }
    gaps = [_gap(mark, places, y) for mark, y in zip(row.margin, notes, strict=True)]
    drawn = [
        _mark(mark, x, y)
        for mark, y in zip(row.marks, lanes, strict=True)
        if mark.value is not None
    ]
    backdrop = _band(top, height, "focus")
    labels = _label(row.label, top + height / 2)
    return focus_row(
        row.label,
        (*row.marks, *row.margin),
        backdrop,
        *labels,
        *gaps,
        *drawn,
        *_margin(row, notes, top + height / 2),
    )


def _gap(mark: Mark, places: Mapping[str, tuple[float, float]], y: float) -> Markup:
    """The line from one arm of a contrast to the other, or nothing if one is not drawn."""
    ends = [places[series] for series in mark.between or () if series in places]
    if mark.value is None or len(ends) < 2:
        return Markup()
    (start, above), (end, beside) = ends
    return tag(
        "g",
        line(start, above, start, y, "drop"),
        line(end, beside, end, y, "drop"),
        line(start, y, end, y, "gap"),
        data_gap=mark.label,
    )


def _label(label: str, middle: float) -> list[Markup]:
    """A target's provider stands above its model; other labels take one line."""
    provider, slash, model = label.partition("/")
    if not slash:
        return [text(0, middle + 4, shorten(label, 28), "row-label")]
    return [
        text(0, middle - 4, shorten(provider + "/", 30), "row-note"),
        text(0, middle + 12, shorten(model, 28), "row-label"),
    ]


def _mark(mark: Mark, x: Scale, y: float) -> Markup:
    bar, at = Markup(), x(mark.value or 0.0)
    if mark.low is not None and mark.high is not None:
        bar = line(x(mark.low), y, x(mark.high), y, "bar")
    elif mark.flat:
        bar = line(at, y - STROKE, at, y + STROKE, "flat")
    return glyph(mark, at, y, bar)


def _margin(row: Row, notes: Sequence[float], middle: float) -> Iterator[Markup]:
    """Contrasts with their names; in a row of one estimate, that estimate."""
    if not row.margin:
        for mark in row.marks[:1]:
            yield from _numbers(mark, middle + 4)
        return
    for mark, y in zip(row.margin, notes, strict=True):
        yield text(_PLOT_RIGHT + 6, y - 4, mark.name, "row-note")
        yield tag("g", *_numbers(mark, y + 11), **_as_data(mark))


def _numbers(mark: Mark, y: float) -> Iterator[Markup]:
    words = estimate(mark.value, mark.low, mark.high, mark.quantity)
    yield text(_PLOT_RIGHT + 6, y, words, "margin")
    pairs = counted(mark.n, mark.unit)
    yield text(_WIDTH - 4, y, pairs, "margin-n", "end")


def _as_data(mark: Mark) -> dict[str, str | None]:
    values = {"data_value": mark.value, "data_low": mark.low, "data_high": mark.high}
    exact = {key: None if value is None else repr(value) for key, value in values.items()}
    return {"class_": "written", "data_label": mark.label, **exact}
