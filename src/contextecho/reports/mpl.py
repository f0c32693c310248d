"""Figures by matplotlib, for a paper: PDF, SVG and PNG, the same bytes each time.

Each drawn number is an artist whose gid is the mark's label, and its interval
one whose gid ends in `INTERVAL` (without spread, `FLAT`), and the line between the
arms of a contrast one whose gid ends in `GAP`, so that a test can read back what was drawn.
Text from a run is made visible first and never read as mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from contextecho.counting import counted
from contextecho.reports.axes import ticks
from contextecho.reports.figures import (
    Axis,
    Figure,
    Forest,
    Mark,
    Panel,
    Row,
    Scatter,
    Trajectory,
    compactions_between,
    indices_of,
    names_of,
    series_of,
)
from contextecho.reports.palette import ESTIMATE, LOOKS, series_name
from contextecho.reports.typeset import estimate, tick, whole
from contextecho.untrusted import make_visible

INTERVAL = " (interval)"
GAP = " (gap)"
FLAT = " (no spread)"
_MARKERS = {
    "circle": "o",
    "triangle": "^",
    "square": "s",
    "diamond": "D",
    "cross": "x",
    "wedge": "v",
}
_TICK = 7.0  # points from an axis to the labels of its ticks
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,  # embedded TrueType, which publishers ask for
    "svg.fonttype": "path",
    "svg.hashsalt": "contextecho",
    "text.parse_math": False,
}
_NO_DATE: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "svg": {"Date": None},
    "png": {},
}


def save(figure: Figure, folder: Path, formats: Sequence[str]) -> Iterator[Path]:
    """Draw `figure` once and write it in each format."""
    with mpl.rc_context(_STYLE):
        canvas = draw(figure)
        for name in formats:
            path = folder / f"{figure.id}.{name}"
            drawn = BytesIO()  # on a full disk its PDF writer fails twice, and hides why
            canvas.savefig(drawn, format=name, dpi=200, metadata=_NO_DATE[name])
            path.write_bytes(drawn.getvalue())
            yield path


def draw(figure: Figure) -> Canvas:
    """The figure as a matplotlib canvas."""
    if isinstance(figure, Trajectory):
        return _trajectory(figure)
    if isinstance(figure, Forest):
        return _forest(figure)
    return _scatter(figure)


def _canvas(width: float, height: float) -> Canvas:
    canvas = Canvas(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def _trajectory(figure: Trajectory) -> Canvas:
    stations = len(figure.stations)
    canvas = _canvas(max(7.0, 0.62 * stations + 1.2), 3.8)
    axes = canvas.add_subplot()
    for i, line in enumerate(figure.lines):
        shift = (i - (len(figure.lines) - 1) / 2) * 0.11
        places = [k + shift for k in range(stations)]
        values = [float("nan") if m.value is None else m.value for m in line.marks]
        axes.plot(places, values, color=LOOKS[line.series].light, linewidth=0.7, alpha=0.6)
        for place, mark in zip(places, line.marks, strict=True):
            _mark(axes, mark, place, upright=True)
    for i, name in compactions_between(figure.stations):
        axes.axvline(i - 0.5, color="0.45", linewidth=0.6, linestyle=(0, (3, 4)))
        axes.annotate(name, (i - 0.5, 1.01), xycoords=("data", "axes fraction"), ha="center")
    _set_axis(axes, axes.yaxis, figure.axis)
    axes.set_ylim(figure.axis.low, figure.axis.high)
    axes.set_xlim(-0.6, stations - 0.4)
    _name_stations(axes, figure)
    _legend(canvas, figure)
    return canvas


def _name_stations(axes: Any, figure: Trajectory) -> None:
    """Under each station its name and its indices; the indices are named at the left."""
    names, indices = names_of(figure.stations), indices_of(figure.stations)
    lines = 2 if any(second for _, second in names) else 1
    labels = [
        "\n".join((*map(make_visible, name[:lines]), *(whole(row[i]) for row in indices.values())))
        for i, name in enumerate(names)
    ]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlabel(figure.along)
    axes.annotate(
        "\n" * lines + "\n".join(indices),
        (0, 0),
        xycoords="axes fraction",
        xytext=(-4, -_TICK),
        textcoords="offset points",
        ha="right",
        va="top",
    )


def _forest(figure: Forest) -> Canvas:
    heights = [sum(_lanes(row) for row in p.rows) for p in figure.panels]
    canvas = _canvas(7.4, 0.9 + sum(0.62 + 0.19 * h for h in heights))
    stack = canvas.subplots(len(heights), squeeze=False, height_ratios=[h + 1 for h in heights])
    for panel, axes in zip(figure.panels, stack[:, 0], strict=True):
        _panel(panel, axes)
    _legend(canvas, figure)
    return canvas


def _lanes(row: Row) -> int:
    """One lane a mark, and two below them a contrast: one for its name, one for its number."""
    return max(len(row.marks) + 2 * len(row.margin), 1)


def _panel(panel: Panel, axes: Any) -> None:
    centres, top = [], 0.0
    for row in panel.rows:
        lanes = _lanes(row)
        centres.append(top + lanes / 2)
        for i, mark in enumerate(row.marks):
            _mark(axes, mark, top + i + 0.5, upright=False)
        _gaps(axes, row, top)
        for place, words, gid in _margin(row, top):
            axes.annotate(
                words, (1.02, place), xycoords=("axes fraction", "data"), va="center", gid=gid
            )
        top += lanes + 0.4
    axes.set_yticks(centres, [make_visible(row.label).replace("/", "/\n", 1) for row in panel.rows])
    axes.set_ylim(top, -0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _set_axis(axes, axes.xaxis, panel.axis)
    axes.set_xlim(panel.axis.low, panel.axis.high)
    if panel.axis.reference is not None:
        axes.axvline(panel.axis.reference, color="0.2", linewidth=0.8, zorder=1)
    if panel.title:
        axes.set_title(panel.title.capitalize(), loc="left", fontsize=9)


def _gaps(axes: Any, row: Row, top: float) -> None:
    """A line between the arms of each contrast, in its lane, and from there to their marks."""
    places = {
        mark.series: (mark.value, top + i + 0.5)
        for i, mark in enumerate(row.marks)
        if mark.value is not None
    }
    for i, mark in enumerate(row.margin):
        ends = [places[series] for series in mark.between or () if series in places]
        if mark.value is None or len(ends) < 2:
            continue
        lane = top + len(row.marks) + 2 * i + 1
        for value, place in ends:
            axes.plot([value] * 2, [place, lane], color="0.6", linewidth=0.6, zorder=1)
        across = [value for value, _ in ends]
        axes.plot(across, [lane] * 2, color="0.2", linewidth=1.4, gid=mark.label + GAP)


def _margin(row: Row, top: float) -> Iterator[tuple[float, str, str | None]]:
    """(lane, words, gid): each contrast's name over its numbers, or a lone mark's numbers."""
    if not row.margin:
        for mark in row.marks[:1]:
            yield top + _lanes(row) / 2, _numbers(mark), None
    for i, mark in enumerate(row.margin):
        place = top + len(row.marks) + 2 * i + 0.5
        yield place, mark.name, None
        yield place + 1, _numbers(mark), mark.label


def _numbers(mark: Mark) -> str:
    words = estimate(mark.value, mark.low, mark.high, mark.quantity)
    return f"{words}, {counted(mark.n, mark.unit)}"


def _scatter(figure: Scatter) -> Canvas:
    canvas = _canvas(5.6, 4.4)
    axes = canvas.add_subplot()
    for cloud in figure.clouds:
        look = LOOKS[cloud.series]
        shown: dict[str, Any] = {"marker": _MARKERS[look.shape], "color": look.light}
        xs, ys = [p.x for p in cloud.points], [p.y for p in cloud.points]
        outline = shown if look.shape == "cross" else {**shown, "facecolors": "none"}
        axes.scatter(xs, ys, s=10, alpha=0.7, linewidth=0.6, gid=cloud.series, **outline)
        axes.scatter([cloud.x], [cloud.y], s=80, linewidth=1.6, zorder=3, **shown)
    for axis, side in ((figure.x, axes.xaxis), (figure.y, axes.yaxis)):
        _set_axis(axes, side, axis)
    axes.set_xlim(figure.x.low, figure.x.high)
    axes.set_ylim(figure.y.low, figure.y.high)
    words = f"{figure.separation.label}: {_numbers(figure.separation)}"
    axes.set_title(words, loc="left", fontsize=8, gid=figure.separation.label)
    _legend(canvas, figure)
    return canvas


def _mark(axes: Any, mark: Mark, place: float, *, upright: bool) -> None:
    """A mark at `place` on the axis across, its interval as a bar through it."""
    if mark.value is None:
        return
    look = LOOKS[mark.series]
    if mark.low is not None and mark.high is not None:
        ends, across = [mark.low, mark.high], [place, place]
        bar = (across, ends) if upright else (ends, across)
        axes.plot(*bar, color=look.light, linewidth=1.0, gid=mark.label + INTERVAL)
    spot = ([place], [mark.value]) if upright else ([mark.value], [place])
    if mark.flat:
        stroke = "_" if upright else "|"
        axes.plot(*spot, marker=stroke, markersize=9.0, color=look.light, gid=mark.label + FLAT)
    axes.plot(
        *spot,
        marker=_MARKERS[look.shape],
        markersize=4.5,
        linestyle="none",
        color=look.light,
        clip_on=False,  # a mark may stand on the end of its axis
        zorder=3,
        gid=mark.label,
    )


def _set_axis(axes: Any, side: Any, axis: Axis) -> None:
    if axis.log:
        (axes.set_xscale if side is axes.xaxis else axes.set_yscale)("log")
    side.set_major_locator(FixedLocator(ticks(axis)))
    side.set_minor_locator(NullLocator())
    side.set_major_formatter(FuncFormatter(lambda value, _: tick(value, axis.quantity)))
    side.set_label_text(make_visible(axis.label))


def _legend(canvas: Canvas, figure: Figure) -> None:
    names = [name for name in series_of(figure) if name != ESTIMATE]
    if not names:
        return
    axes = canvas.axes[0]
    keys = [
        axes.plot([], [], marker=_MARKERS[LOOKS[n].shape], color=LOOKS[n].light, linestyle="none")[
            0
        ]
        for n in names
    ]
    canvas.legend(
        keys,
        [series_name(n) for n in names],
        loc="outside upper left",
        ncols=len(names),
        frameon=False,
    )
