"""The figures of a report as plain values: numbers, intervals, n and words, no drawing.

Two renderers draw them (`svg` for the HTML page, `mpl` for a paper) and the
JSON report holds them as they are. Values are in the unit that is shown
(characters, not their logarithm). Labels of marks are unique within a figure:
they are what the renderers are compared by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from contextecho.reports.typeset import Quantity


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One axis in the shown unit; `reference` is where "no difference" lies."""

    label: str
    quantity: Quantity
    low: float
    high: float
    log: bool = False
    reference: float | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a figure. Without a value there is nothing to draw and `note` says why."""

    series: str  # an arm, or "estimate"
    name: str  # what it is called in its row: "control", "control − session"
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    planned: int
    unit: str  # of n: "reply" or "pair"
    quantity: Quantity
    note: str | None = None
    flat: bool = False  # no interval, because what it rests on is all equal
    between: tuple[str, str] | None = None  # of a difference: the series it lies between


class Station(msgspec.Struct, frozen=True, kw_only=True):
    """A position on the x axis with all three indices."""

    label: str
    row_turn: int | None
    step: int | None
    prompt: int | None
    segment: int | None  # compactions before it


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One arm along the session: a mark a station, in the stations' order."""

    series: str
    marks: tuple[Mark, ...]


class Described(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every figure says about itself in words."""

    id: str  # unique in a report, safe as a file name
    family: str  # what `--only` selects by: "trajectory", "arms", ...
    title: str
    finding: str  # one sentence
    caption: str
    provenance: Mapping[str, str]


class Trajectory(Described, frozen=True, kw_only=True, tag="trajectory"):
    """A measure along the session, or by the levels of a study, one line an arm."""

    along: str = "position"  # what the stations are
    axis: Axis
    stations: tuple[Station, ...]
    lines: tuple[Line, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a forest: its marks, and the differences drawn from arm to arm."""

    label: str
    marks: tuple[Mark, ...]
    margin: tuple[Mark, ...] = ()


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """Rows over one common axis."""

    title: str
    axis: Axis
    rows: tuple[Row, ...]


class Forest(Described, frozen=True, kw_only=True, tag="forest"):
    """Estimates with intervals in rows; several panels stand under one another."""

    panels: tuple[Panel, ...]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One reply on the fingerprint map."""

    series: str
    x: float
    y: float
    position: str
    stimulus: str
    judge: float | None


class Cloud(msgspec.Struct, frozen=True, kw_only=True):
    """One arm on the map: its centre over all `n` replies, and the points that are drawn."""

    series: str
    x: float
    y: float
    n: int
    points: tuple[Point, ...]


class Scatter(Described, frozen=True, kw_only=True, tag="scatter"):
    """The fingerprint map of one target."""

    x: Axis
    y: Axis
    clouds: tuple[Cloud, ...]
    separation: Mark  # AUC, control versus session on PC1
    loadings: Mapping[str, tuple[float, float]]


Figure = Trajectory | Forest | Scatter


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a session on the x axis of strips; none reaches over a compaction."""

    first_step: int
    last_step: int
    segment: int  # compactions before it
    texts: int


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happens along a session, `at` so many stretches from the left."""

    at: float
    name: str


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """One measure along a session: a mark a stretch, in the stretches' order."""

    name: str
    unit: str  # what its values are: "matches per 10,000 characters"
    axis: Axis
    marks: tuple[Mark, ...]
    margin: tuple[str, ...] = ()  # how its ends compare, in lines
    stands_out: bool = False


class Strips(Described, frozen=True, kw_only=True, tag="strips"):
    """Several measures of one session over one common x axis, each with its own scale."""

    stretches: tuple[Stretch, ...]
    strips: tuple[Strip, ...]
    margin_head: tuple[str, ...]  # what the margins say, in lines
    rules: tuple[Rule, ...] = ()  # changes of conditions, from left to right


def marks_of(figure: Figure) -> Iterator[Mark]:
    """Every number that a figure draws or writes, in reading order."""
    if isinstance(figure, Trajectory):
        for line in figure.lines:
            yield from line.marks
    elif isinstance(figure, Forest):
        for panel in figure.panels:
            for row in panel.rows:
                yield from row.marks
                yield from row.margin
    else:
        yield figure.separation


def indices_of(stations: Sequence[Station]) -> dict[str, tuple[int | None, ...]]:
    """The indices that the stations have, by name; levels of a study have none."""
    indices = {
        "row turn": tuple(s.row_turn for s in stations),
        "agent step": tuple(s.step for s in stations),
        "user prompt": tuple(s.prompt for s in stations),
    }
    return {name: values for name, values in indices.items() if set(values) != {None}}


def names_of(stations: tuple[Station, ...]) -> tuple[tuple[str, str], ...]:
    """Each position's name in two lines, "P03" over "post C1".

    A second line that only says the row turn again (`P03_t0048`) is empty.
    """
    parts = ((s, *s.label.partition("_")[::2]) for s in stations)
    return tuple(
        (first, "" if rest == f"t{s.row_turn or 0:04d}" else rest.replace("_", " "))
        for s, first, rest in parts
    )


def series_of(figure: Figure) -> tuple[str, ...]:
    """The arms that a figure shows, in order of first appearance."""
    if isinstance(figure, Trajectory):
        names = [line.series for line in figure.lines]
    elif isinstance(figure, Forest):
        rows = (row for panel in figure.panels for row in panel.rows)
        names = [mark.series for row in rows for mark in row.marks]
    else:
        names = [cloud.series for cloud in figure.clouds]
    return tuple(dict.fromkeys(names))


def compactions_before(stations: tuple[Station, ...]) -> str | None:
    """The compactions that no rule shows, because they lie before the first position."""
    count = stations[0].segment if stations else None
    if not count:
        return None
    return "C1 lies" if count == 1 else f"C1–C{count} lie"


def compactions_between(stations: Sequence[Station | Stretch]) -> Iterator[tuple[int, str]]:
    """(index of the station after it, "C1" or "C2–C3") for each gap with compactions in it."""
    for i in range(1, len(stations)):
        before, after = stations[i - 1].segment, stations[i].segment
        if before is not None and after is not None and after > before:
            yield i, f"C{after}" if after == before + 1 else f"C{before + 1}–C{after}"
