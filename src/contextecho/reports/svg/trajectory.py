"""A trajectory as SVG: arms dodged at each position, compaction rules, three indices below."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from contextecho.reports.axes import ticks
from contextecho.reports.figures import (
    Mark,
    Station,
    Trajectory,
    compactions_between,
    indices_of,
    names_of,
)
from contextecho.reports.palette import series_class
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
from contextecho.reports.typeset import tick, whole

_LEFT, _RIGHT, _TOP, _PLOT, _BELOW = 104.0, 16.0, 76.0, 270.0, 92.0
_DODGE = 9.0
_STATION = 68.0  # least width of a station, so that its label and indices can be read


def draw_trajectory(figure: Trajectory) -> Markup:
    """The figure, at least 960 wide and wider if there are many positions."""
    stations = len(figure.stations)
    width = max(960.0, _LEFT + _RIGHT + stations * _STATION)
    step = (width - _LEFT - _RIGHT) / stations
    centres = [_LEFT + (i + 0.5) * step for i in range(stations)]
    y = scale(figure.axis, _TOP + _PLOT, _TOP)
    parts = [
        *legend([each.series for each in figure.lines], _LEFT + 5, 20),
        text(_LEFT, 42, figure.axis.label, "axis-label"),
        *_grid(figure, y, width),
        *_compactions(figure.stations, centres),
        *_paths(figure, centres, y),
        *_columns(figure, centres, y),
        *_indices(figure.stations, centres),
    ]
    return canvas(figure, width, _TOP + _PLOT + _BELOW, parts)


def _grid(figure: Trajectory, y: Scale, width: float) -> Iterator[Markup]:
    for value in ticks(figure.axis):
        at = y(value)
        yield line(_LEFT, at, width - _RIGHT, at, "grid")
        yield text(_LEFT - 8, at + 4, tick(value, figure.axis.quantity), "tick", "end")


def _compactions(stations: tuple[Station, ...], centres: list[float]) -> Iterator[Markup]:
    for i, name in compactions_between(stations):
        at = (centres[i - 1] + centres[i]) / 2
        yield line(at, _TOP - 4, at, _TOP + _PLOT, "compaction")
        yield text(at, _TOP - 8, name, "compaction-name", "middle")


def _offset(index: int, of: int) -> float:
    return (index - (of - 1) / 2) * _DODGE


def _paths(figure: Trajectory, centres: list[float], y: Scale) -> Iterator[Markup]:
    for i, each in enumerate(figure.lines):
        offset = _offset(i, len(figure.lines))
        pieces: list[str] = []
        for centre, mark in zip(centres, each.marks, strict=True):
            if mark.value is None:
                pieces.append("")
            else:
                joined = bool(pieces) and pieces[-1] != ""
                move = "L" if joined else "M"
                pieces.append(f"{move}{centre + offset:.2f} {y(mark.value):.2f}")
        yield tag("path", d="".join(pieces), class_=f"path {series_class(each.series)}")


def _columns(figure: Trajectory, centres: list[float], y: Scale) -> Iterator[Markup]:
    for i, (station, centre) in enumerate(zip(figure.stations, centres, strict=True)):
        marks = [each.marks[i] for each in figure.lines]
        drawn = [
            _mark(mark, centre + _offset(k, len(marks)), y)
            for k, mark in enumerate(marks)
            if mark.value is not None
        ]
        half = (centres[1] - centres[0]) / 2 - 2
        backdrop = tag(
            "rect", x=centre - half, y=_TOP, width=2 * half, height=_PLOT, class_="focus"
        )
        yield focus_row(station.label, marks, backdrop, *drawn)


def _mark(mark: Mark, x: float, y: Scale) -> Markup:
    bar, at = Markup(), y(mark.value or 0.0)
    if mark.low is not None and mark.high is not None:
        bar = line(x, y(mark.low), x, y(mark.high), "bar")
    elif mark.flat:
        bar = line(x - STROKE, at, x + STROKE, at, "flat")
    return glyph(mark, x, at, bar)


def _indices(stations: tuple[Station, ...], centres: list[float]) -> Iterator[Markup]:
    base = _TOP + _PLOT
    yield line(_LEFT, base, centres[-1] + centres[0] - _LEFT, base, "axis")
    names = names_of(stations)
    first_row = 52.0 if any(second for _, second in names) else 40.0
    for centre, lines in zip(centres, names, strict=True):
        for i, words in enumerate(lines):
            yield text(centre, base + 18 + 14 * i, shorten(words, 11), "station", "middle")
    for row, (name, values) in enumerate(indices_of(stations).items()):
        below = base + first_row + 15 * row
        yield text(_LEFT - 8, below, name, "index-name", "end")
        for centre, value in zip(centres, values, strict=True):
            yield text(centre, below, whole(value), "index", "middle")
