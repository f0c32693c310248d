"""A fingerprint map as SVG: replies by arm, colour and shape, with the arms' centres."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from contextecho.counting import counted
from contextecho.reports.axes import ticks
from contextecho.reports.figures import Cloud, Point, Scatter
from contextecho.reports.palette import series_class, series_name
from contextecho.reports.svg.elements import canvas, focus_row, legend, line, shape, tag, text
from contextecho.reports.svg.scales import Scale, scale
from contextecho.reports.typeset import number, tick

_WIDTH, _LEFT, _RIGHT, _TOP, _PLOT = 960.0, 64.0, 250.0, 44.0, 400.0
_DOT, _CENTRE = 3.2, 8.0


def draw_scatter(figure: Scatter) -> Markup:
    """The map with its loadings in the right margin."""
    x = scale(figure.x, _LEFT, _WIDTH - _RIGHT - 20)
    y = scale(figure.y, _TOP + _PLOT, _TOP)
    parts = [
        *legend([cloud.series for cloud in figure.clouds], _LEFT + 5, 20),
        *_frame(figure, x, y),
        *(_dots(cloud, x, y) for cloud in figure.clouds),
        *(_centre(cloud, x, y) for cloud in figure.clouds),
        *_loadings(figure),
    ]
    return canvas(figure, _WIDTH, _TOP + _PLOT + 48, parts)


def _frame(figure: Scatter, x: Scale, y: Scale) -> Iterator[Markup]:
    right, bottom = _WIDTH - _RIGHT - 20, _TOP + _PLOT
    for value in ticks(figure.x):
        yield line(x(value), _TOP, x(value), bottom, "grid")
        yield text(x(value), bottom + 17, tick(value, figure.x.quantity), "tick", "middle")
    for value in ticks(figure.y):
        yield line(_LEFT, y(value), right, y(value), "grid")
        yield text(_LEFT - 8, y(value) + 4, tick(value, figure.y.quantity), "tick", "end")
    yield text(right, bottom + 38, figure.x.label, "axis-label", "end")
    yield tag(
        "text",
        figure.y.label,
        transform=f"translate(14 {_TOP + _PLOT / 2:g}) rotate(-90)",
        text_anchor="middle",
        class_="axis-label",
    )


def _dots(cloud: Cloud, x: Scale, y: Scale) -> Markup:
    dots = (
        tag(
            "g",
            shape(cloud.series, x(point.x), y(point.y), _DOT),
            data_tip=_said(point),
            data_x=repr(point.x),
            data_y=repr(point.y),
        )
        for point in cloud.points
    )
    return tag("g", *dots, class_=f"dots {series_class(cloud.series)}")


def _said(point: Point) -> str:
    judged = "" if point.judge is None else f", register {point.judge:g}"
    return (
        f"{series_name(point.series)}, {point.position}, {point.stimulus}{judged}\n"
        f"PC1 {point.x:.2f}, PC2 {point.y:.2f}"
    )


def _centre(cloud: Cloud, x: Scale, y: Scale) -> Markup:
    words = (
        f"{series_name(cloud.series)}, centre of {counted(cloud.n, 'reply')}: "
        f"PC1 {cloud.x:.2f}, PC2 {cloud.y:.2f}"
    )
    mark = tag(
        "g",
        shape(cloud.series, x(cloud.x), y(cloud.y), _CENTRE),
        class_=f"mark centre {series_class(cloud.series)}",
        data_tip=words,
    )
    return focus_row(words, (), mark)


def _loadings(figure: Scatter) -> Iterator[Markup]:
    left, top = _WIDTH - _RIGHT + 10, _TOP + 12
    yield text(left, top, "Loadings", "panel-title")
    for at, name in ((_WIDTH - 62, "PC1"), (_WIDTH - 8, "PC2")):
        yield text(at, top, name, "row-note", "end")
    for i, (feature, (first, second)) in enumerate(figure.loadings.items(), start=1):
        base = top + 22.0 * i
        yield text(left, base, feature.replace("_", " "), "row-note")
        yield text(_WIDTH - 62, base, number(first, figure.x.quantity), "margin", "end")
        yield text(_WIDTH - 8, base, number(second, figure.y.quantity), "margin", "end")
