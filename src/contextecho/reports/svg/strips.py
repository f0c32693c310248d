"""Strips as SVG: measures of one session under one another, over the same windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from contextecho.reports.axes import ticks
from contextecho.reports.figures import Mark, Strip, Strips, compactions_between
from contextecho.reports.svg.elements import canvas, focus_row, glyph, line, tag, text
from contextecho.reports.svg.scales import Scale, scale
from contextecho.reports.typeset import tick, whole

_LEFT, _MARGIN, _HEAD, _BELOW = 216.0, 200.0, 46.0, 60.0
_STRIP, _GAP = 58.0, 16.0
_STRETCH = 44.0  # least width of a stretch, so that the numbers below it can be read


def draw_strips(figure: Strips) -> Markup:
    """The figure, at least 960 wide and wider if there are many stretches."""
    count = len(figure.stretches)
    width = max(960.0, _LEFT + _MARGIN + count * _STRETCH)
    right = width - _MARGIN
    step = (right - _LEFT) / count
    centres = [_LEFT + (i + 0.5) * step for i in range(count)]
    tops = [_HEAD + i * (_STRIP + _GAP) for i in range(len(figure.strips))]
    bottom = tops[-1] + _STRIP
    parts = [
        *_compactions(figure, step, bottom),
        *_changes(figure, step, bottom),
        *(
            text(right + 14, 14 + 15 * i, words, "row-note")
            for i, words in enumerate(figure.margin_head)
        ),
        *(_strip(each, top, centres, right) for each, top in zip(figure.strips, tops, strict=True)),
        *_indices(figure, centres, bottom),
    ]
    return canvas(figure, width, bottom + _BELOW, parts)


def _compactions(figure: Strips, step: float, bottom: float) -> Iterator[Markup]:
    for i, name in compactions_between(figure.stretches):
        yield from _rule(_LEFT + i * step, name, 38.0, bottom, "compaction")


def _changes(figure: Strips, step: float, bottom: float) -> Iterator[Markup]:
    for each in figure.rules:
        yield from _rule(_LEFT + each.at * step, each.name, 22.0, bottom, "change")


def _rule(x: float, name: str, y: float, bottom: float, class_: str) -> Iterator[Markup]:
    yield line(x, y + 4, x, bottom, class_)
    yield text(x, y, name, f"{class_}-name", "middle")


def _strip(strip: Strip, top: float, centres: Sequence[float], right: float) -> Markup:
    y = scale(strip.axis, top + _STRIP, top)
    backdrop = tag("rect", x=0.0, y=top - 4, width=right, height=_STRIP + 8, class_="focus")
    return focus_row(
        f"{strip.name}, {strip.unit}",
        strip.marks,
        backdrop,
        text(0, top + 24, strip.name, "row-label"),
        text(0, top + 41, strip.unit, "row-note"),
        *_grid(strip, y, right),
        tag("path", d=_path(strip.marks, centres, y), class_="path s-estimate"),
        *(
            glyph(mark, x, y(mark.value), Markup())
            for mark, x in zip(strip.marks, centres, strict=True)
            if mark.value is not None
        ),
        *_margin(strip, top, right),
    )


def _grid(strip: Strip, y: Scale, right: float) -> Iterator[Markup]:
    """The lowest and the highest of the round values, which is what the height has room for."""
    found = ticks(strip.axis)
    for value in dict.fromkeys((*found[:1], *found[-1:])):
        yield line(_LEFT, y(value), right, y(value), "grid")
        words = tick(value, strip.axis.quantity)
        yield text(_LEFT - 8, y(value) + 4, words, "tick", "end")


def _path(marks: Sequence[Mark], centres: Sequence[float], y: Scale) -> str:
    """From mark to mark, with a gap where there is none."""
    pieces: list[str] = []
    for mark, x in zip(marks, centres, strict=True):
        joined = bool(pieces) and pieces[-1] != ""
        at = "" if mark.value is None else f"{'L' if joined else 'M'}{x:.2f} {y(mark.value):.2f}"
        pieces.append(at)
    return "".join(pieces)


def _margin(strip: Strip, top: float, right: float) -> Iterator[Markup]:
    class_ = "margin strong" if strip.stands_out else "margin"
    for i, words in enumerate(strip.margin):
        yield text(right + 14, top + 24 + 17 * i, words, class_ if i == 0 else "row-note")


def _indices(figure: Strips, centres: Sequence[float], bottom: float) -> Iterator[Markup]:
    rows = (
        ("from agent step", [each.first_step for each in figure.stretches]),
        ("to agent step", [each.last_step for each in figure.stretches]),
        ("texts", [each.texts for each in figure.stretches]),
    )
    for i, (name, values) in enumerate(rows):
        y = bottom + 22 + 15 * i
        yield text(_LEFT - 8, y, name, "index-name", "end")
        for value, x in zip(values, centres, strict=True):
            yield text(x, y, whole(value), "index", "middle")
