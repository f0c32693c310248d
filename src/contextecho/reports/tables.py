"""The tables of a report as text, shared by the HTML page and the Markdown.

Every figure has one with the same numbers; denominators, contrasts and
positions have their own. Cells are finished text, not yet escaped.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from contextecho.contexts import Arm
from contextecho.reports.captions import intervals_named
from contextecho.reports.figures import (
    Figure,
    Mark,
    Scatter,
    Strips,
    Trajectory,
    indices_of,
    marks_of,
)
from contextecho.reports.headline import difference
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.typeset import (
    Quantity,
    bracket,
    estimate,
    estimated,
    number,
    p_value,
    sentence,
    whole,
)
from contextecho.reports.view import View
from contextecho.scoring import OVERALL, Contrast, Denominator


class Column(msgspec.Struct, frozen=True):
    """A column's heading, and how its cells are set."""

    heading: str
    kind: str = "label"  # or "n": a number, flush right


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A caption, columns and rows of cells; the first cell heads its row.

    A cell in the column "note" is the number of a footnote, counted from 1.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...] = ()


def figure_table(figure: Figure | Strips) -> Table:
    """The numbers that a figure draws."""
    if isinstance(figure, Scatter):
        return _cloud_table(figure)
    if isinstance(figure, Trajectory):
        return _trajectory_table(figure)
    if isinstance(figure, Strips):
        return _strips_table(figure)
    table = Table(
        caption=figure.title,
        columns=(Column("estimate"), *_MARK_COLUMNS),
        rows=tuple((mark.label, *_mark_cells(mark)) for mark in marks_of(figure)),
    )
    return with_footnotes(table)


_MARK_COLUMNS = (
    Column("value [interval]", "n"),
    Column("n", "n"),
    Column("planned", "n"),
    Column("note", "n"),
)


def _mark_cells(mark: Mark) -> tuple[str, ...]:
    words = estimate(mark.value, mark.low, mark.high, mark.quantity)
    return (words, whole(mark.n), whole(mark.planned), mark.note or "")


def _trajectory_table(figure: Trajectory) -> Table:
    indices = indices_of(figure.stations)
    rows = tuple(
        (
            station.label,
            *(whole(values[i]) for values in indices.values()),
            *(_with_n(line.marks[i]) for line in figure.lines),
        )
        for i, station in enumerate(figure.stations)
    )
    arms = tuple(Column(f"{series_name(line.series)} (n)", "n") for line in figure.lines)
    return Table(
        caption=f"{figure.title}. {figure.axis.label}",
        columns=(
            Column(figure.along),
            *(Column(name, "n") for name in indices),
            *arms,
        ),
        rows=rows,
    )


def _with_n(mark: Mark) -> str:
    return (
        f"{estimate(mark.value, mark.low, mark.high, mark.quantity)} ({mark.n} of {mark.planned})"
    )


def _cloud_table(figure: Scatter) -> Table:
    separation = figure.separation
    words = estimate(separation.value, separation.low, separation.high, separation.quantity)
    rows = [
        (
            series_name(c.series),
            number(c.x, Quantity.COORDINATE),
            number(c.y, Quantity.COORDINATE),
            whole(c.n),
        )
        for c in figure.clouds
    ]
    return Table(
        caption=f"{figure.title}. Centres of the arms; {separation.label}: {words}",
        columns=(
            Column("arm"),
            Column("mean PC1", "n"),
            Column("mean PC2", "n"),
            Column("n", "n"),
        ),
        rows=tuple(rows),
    )


def _strips_table(figure: Strips) -> Table:
    rows = tuple(
        (
            f"{whole(stretch.first_step)}–{whole(stretch.last_step)}",
            whole(stretch.segment),
            whole(stretch.texts),
            *(_or_dash(strip.marks[i]) for strip in figure.strips),
        )
        for i, stretch in enumerate(figure.stretches)
    )
    return Table(
        caption=f"{figure.title}. Means over the texts of each window",
        columns=(
            Column("agent steps"),
            Column("compactions before", "n"),
            Column("texts", "n"),
            *(Column(f"{strip.name}, {strip.unit}", "n") for strip in figure.strips),
        ),
        rows=rows,
    )


def _or_dash(mark: Mark) -> str:
    """The value of a mark; a dash where there is no text, as the column of texts says."""
    return "–" if mark.value is None else number(mark.value, mark.quantity)


def denominators_table(view: View) -> Table:
    """What became of every planned reply, by target, battery and arm."""
    columns = ("planned", "answered", "refused", "truncated", "empty", "failed", "missing")
    rows = tuple(
        (
            d.target,
            d.battery,
            series_name(d.arm.value),
            *(whole(getattr(d, column)) for column in columns),
            _judged(d),
            whole(view.distinct(d.target, d.battery, d.arm, d.answered)),
        )
        for d in sorted(view.analysis.denominators, key=_surface_order(view))
    )
    scratch = " Scratch is asked once, and shown at every position."
    table = Table(
        caption="What became of every planned reply. Only an answered one is ever scored."
        + scratch * (Arm.SCRATCH in view.arms),
        columns=(
            Column("target"),
            Column("battery"),
            Column("arm"),
            *(Column(column, "n") for column in columns),
            Column("judged / unreadable", "n"),
            Column("distinct answers", "n"),
        ),
        rows=rows,
    )
    return _without_lone_target(table, view)


def with_footnotes(table: Table) -> Table:
    """`table` with the notes in its last column moved below, each once and numbered."""
    notes = dict.fromkeys(row[-1] for row in table.rows if row[-1])
    numbers = {note: str(i) for i, note in enumerate(notes, start=1)}
    if not numbers:
        rows = tuple(row[:-1] for row in table.rows)
        return msgspec.structs.replace(table, columns=table.columns[:-1], rows=rows)
    rows = tuple((*row[:-1], numbers.get(row[-1], "")) for row in table.rows)
    return msgspec.structs.replace(
        table, rows=rows, footnotes=tuple(sentence(note) for note in notes)
    )


def _without_lone_target(table: Table, view: View) -> Table:
    """`table` without its first column where one target fills it; the page names it above."""
    if len(view.targets) > 1:
        return table
    return Table(
        caption=table.caption,
        columns=table.columns[1:],
        rows=tuple(row[1:] for row in table.rows),
    )


def _surface_order(view: View) -> Callable[[Denominator], tuple[int, int, int]]:
    """Sort by target, then battery, then arm, each in the order of the run."""
    batteries = list(dict.fromkeys(d.battery for d in view.analysis.denominators))
    return lambda d: (
        view.targets.index(d.target),
        batteries.index(d.battery),
        view.arms.index(d.arm),
    )


def _judged(d: Denominator) -> str:
    return f"{d.judged:,} / {d.unjudged:,}" if d.judged or d.unjudged else "–"


def contrasts_table(view: View, *, overall_only: bool) -> Table:
    """The contrasts with both intervals, p-values and pairs; overall, or in every scope."""
    found = [c for c in view.analysis.contrasts if c.scope == OVERALL or not overall_only]
    kinds = intervals_named(c.interval for c in found)
    where = "over the whole run" if overall_only else "overall, by category and by position"
    table = Table(
        caption=f"Differences between arms on paired replies, {where}, with {kinds}",
        columns=(
            Column("target"),
            Column("measure, battery"),
            *(() if overall_only else (Column("scope"),)),
            Column("difference"),
            Column("estimate [interval]", "n"),
            Column("percentile interval", "n"),
            *TESTED_COLUMNS,
        ),
        rows=tuple(_contrast_cells(c, with_scope=not overall_only) for c in found),
    )
    return with_footnotes(_without_lone_target(table, view))


def _contrast_cells(c: Contrast, *, with_scope: bool) -> tuple[str, ...]:
    reading = READINGS[c.measure]
    return (
        c.target,
        f"{reading.name}, {c.battery}",
        *((c.scope.replace(":", " "),) if with_scope else ()),
        difference(c),
        estimated(c.estimate, c.interval, reading.contrast),
        bracket(c.percentile.low, c.percentile.high, reading.contrast) if c.percentile else "–",
        *tested_cells(c),
    )


TESTED_COLUMNS = (
    Column("p", "n"),
    Column("p, Holm", "n"),
    Column("pairs", "n"),
    Column("clusters", "n"),
    Column("note", "n"),
)


def tested_cells(c: Contrast) -> tuple[str, ...]:
    """The cells of `TESTED_COLUMNS`: how a contrast was tested, and on what."""
    return (
        p_value(c.p),
        p_value(c.p_holm),
        f"{c.pairs:,} of {c.planned_pairs:,}",
        whole(c.clusters),
        c.note or "",
    )


def positions_table(view: View) -> Table:
    """Where the session was forked, by all three indices, and what was shown there."""
    rows = []
    for station in view.stations:
        snapshot = view.plan.snapshot(station.label)
        ratio = view.plan.control_ratio.get(station.label)
        rows.append(
            (
                station.label,
                whole(station.row_turn),
                whole(station.step),
                whole(station.prompt),
                whole(station.segment),
                whole(snapshot.tokens if snapshot else None),
                whole(snapshot.chars if snapshot else None),
                "–" if ratio is None else f"{ratio:.3f}",
                whole(snapshot.dropped_turns if snapshot else None),
                _kept(snapshot.summary_kept) if snapshot else "–",
            )
        )
    headings = (
        "row turn",
        "agent step",
        "user prompt",
        "compactions before",
        "prefix tokens",
        "prefix characters",
        "control ÷ session tokens",
        "turns cut from the front",
        "summary in view",
    )
    return Table(
        caption=f"Positions. Tokens counted with: {view.plan.token_counter or 'not recorded'}",
        columns=(Column("position"), *(Column(h, "n") for h in headings)),
        rows=tuple(rows),
    )


def _kept(kept: bool | None) -> str:
    if kept is None:
        return "no compaction yet"
    return "yes" if kept else "no"
