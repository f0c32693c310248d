"""A forest as SVG: rows of marks with intervals, and their numbers in the right margin."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from contextecho.reports.axes import ticks
from contextecho.reports.figures import Axis, Forest, Mark, Panel, Row, series_of
from contextecho.reports.palette import ESTIMATE
from contextecho.reports.svg.elements import (
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
from contextecho.reports.typeset import count, estimate, tick

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
    return max(_LANE * len(row.marks), _NOTE * len(row.margin)) + (_PAD if row.margin else 5.0)


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
    middle = top + height / 2
    lanes = [middle + (i - (len(row.marks) - 1) / 2) * _LANE for i in range(len(row.marks))]
    drawn = [
        _mark(mark, x, y)
        for mark, y in zip(row.marks, lanes, strict=True)
        if mark.value is not None
    ]
    backdrop = _band(top, height, "focus")
    labels = _label(row.label, middle)
    return focus_row(
        row.label, (*row.marks, *row.margin), backdrop, *labels, *drawn, *_margin(row, middle)
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
    bar = Markup()
    if mark.low is not None and mark.high is not None:
        bar = line(x(mark.low), y, x(mark.high), y, "bar")
    return glyph(mark, x(mark.value or 0.0), y, bar)


def _margin(row: Row, middle: float) -> Iterator[Markup]:
    """Contrasts with their names; in a row of one estimate, that estimate."""
    if not row.margin:
        for mark in row.marks[:1]:
            yield from _numbers(mark, middle + 4)
        return
    y = middle - _NOTE * len(row.margin) / 2 + 13
    for mark in row.margin:
        yield text(_PLOT_RIGHT + 6, y, mark.name, "row-note")
        yield tag("g", *_numbers(mark, y + 15), **_as_data(mark))
        y += _NOTE


def _numbers(mark: Mark, y: float) -> Iterator[Markup]:
    words = estimate(mark.value, mark.low, mark.high, mark.quantity)
    yield text(_PLOT_RIGHT + 6, y, words, "margin")
    pairs = count(mark.n, mark.unit, "replies" if mark.unit == "reply" else None)
    yield text(_WIDTH - 4, y, pairs, "margin-n", "end")


def _as_data(mark: Mark) -> dict[str, str | None]:
    values = {"data_value": mark.value, "data_low": mark.low, "data_high": mark.high}
    exact = {key: None if value is None else repr(value) for key, value in values.items()}
    return {"class_": "written", "data_label": mark.label, **exact}
