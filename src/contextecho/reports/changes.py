"""Tables of changes: of a contrast across compactions, or from one level of a study to another."""

from __future__ import annotations

from collections import Counter

from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.tables import Column, Table, with_footnotes
from contextecho.reports.typeset import Quantity, estimated, p_value, whole
from contextecho.scoring import GapChange


def crossings_table(crossings: tuple[GapChange, ...], run: str = "") -> Table | None:
    """How the first contrast of a run changes across each compaction; None where none is crossed.

    `run` names the run where there are several.
    """
    if not crossings:
        return None
    ways = Counter(_way(change) for change in crossings)
    told = ", ".join(f"{ways[way]} {way}" for way in ("above", "below", "undecided"))
    return changes_table(
        crossings,
        f"{f'{run}: the' if run else 'The'} first contrast after each compaction minus that before "
        f"it, with the questions as units. Intervals wholly on one side of no change: {told}.",
    )


def _way(change: GapChange) -> str:
    neutral = READINGS[change.measure].contrast.neutral
    if change.interval is None or neutral is None:
        return "undecided"
    if change.interval.low > neutral:
        return "above"
    return "below" if change.interval.high < neutral else "undecided"


def changes_table(changes: tuple[GapChange, ...], caption: str) -> Table:
    """How a contrast changes from one place to another."""
    table = Table(
        caption=caption,
        columns=(
            Column("from"),
            Column("to"),
            Column("target"),
            Column("measure, battery"),
            Column("of"),
            Column("change [interval]", "n"),
            Column("p", "n"),
            Column("p, Holm", "n"),
            Column("questions", "n"),
            Column("units", "n"),
            Column("note", "n"),
        ),
        rows=tuple(_change(change) for change in changes),
    )
    return with_footnotes(table)


def _change(change: GapChange) -> tuple[str, ...]:
    quantity = READINGS[change.measure].contrast
    sign = "÷" if quantity is Quantity.RATIO else "−"
    return (
        change.before,
        change.after,
        change.target,
        f"{READINGS[change.measure].name}, {change.battery}",
        f"{series_name(change.minus_from)} {sign} {series_name(change.minus)}",
        estimated(change.estimate, change.interval, quantity),
        p_value(change.p),
        p_value(change.p_holm),
        f"{change.pairs:,} of {change.planned_pairs:,}",
        whole(change.units),
        change.note or "",
    )
