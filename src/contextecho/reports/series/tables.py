"""The tables of a series: its runs, their contrasts, and the changes between levels."""

from __future__ import annotations

from contextecho.reports.headline import difference
from contextecho.reports.measures import READINGS
from contextecho.reports.tables import (
    TESTED_COLUMNS,
    Column,
    Table,
    tested_cells,
    with_footnotes,
)
from contextecho.reports.typeset import Quantity, estimated, number, whole
from contextecho.scoring import Contrast, SeriesAnalysis, SessionSpread


def runs_table(series: SeriesAnalysis) -> Table:
    """What each run is, and what became of its planned replies."""
    rows = []
    for part in series.parts:
        denominators = part.analysis.denominators
        rows.append(
            (
                part.level.id if part.level else "–",
                part.session,
                part.analysis.run.id,
                whole(sum(d.planned for d in denominators)),
                whole(sum(d.answered for d in denominators)),
                whole(sum(d.judged for d in denominators)),
                "yes" if part.analysis.headline_withheld else "no",
                part.analysis.registration.standing,
            )
        )
    return Table(
        caption="The runs of this series. A withheld one's negative controls moved.",
        columns=(
            Column("level"),
            Column("session"),
            Column("run"),
            Column("planned", "n"),
            Column("answered", "n"),
            Column("judged", "n"),
            Column("withheld"),
            Column("registration"),
        ),
        rows=tuple(rows),
    )


def contrasts_table(series: SeriesAnalysis) -> Table:
    """Every contrast of every run, and over all sessions where there are several."""
    rows = [
        (part.level.id if part.level else "–", part.session, *_contrast(c))
        for part in series.parts
        for c in part.contrasts
    ]
    rows += [(level or "–", "all, as clusters", *_contrast(c)) for level, c in series.pooled]
    table = Table(
        caption="Differences between arms on paired replies; Holm's correction over all runs",
        columns=(
            Column("level"),
            Column("session"),
            Column("target"),
            Column("measure, battery"),
            Column("difference"),
            Column("estimate [interval]", "n"),
            *TESTED_COLUMNS,
        ),
        rows=tuple(rows),
    )
    return with_footnotes(table)


def spreads_table(series: SeriesAnalysis) -> Table | None:
    """How much of the variance of pairs lies between sessions; None with one session."""
    if not series.spreads:
        return None
    table = Table(
        caption="The variance of the first contrast's pairs, between sessions and within them "
        "(REML; of lengths, of log10 ratios)",
        columns=(
            Column("level"),
            Column("target"),
            Column("measure, battery"),
            Column("pairs taken"),
            Column("between", "n"),
            Column("within", "n"),
            Column("share between", "n"),
            Column("sessions", "n"),
            Column("pairs", "n"),
            Column("note", "n"),
        ),
        rows=tuple(_spread(spread) for spread in series.spreads),
    )
    return with_footnotes(table)


def _spread(spread: SessionSpread) -> tuple[str, ...]:
    return (
        spread.level or "–",
        spread.target,
        f"{READINGS[spread.measure].name}, {spread.battery}",
        "contract kept in both arms" if spread.conditional else "all",
        "–" if spread.between is None else f"{spread.between:.4f}",
        "–" if spread.within is None else f"{spread.within:.4f}",
        "–" if spread.share is None else number(spread.share, Quantity.SHARE),
        whole(spread.sessions),
        whole(spread.pairs),
        spread.note or "",
    )


def _contrast(c: Contrast) -> tuple[str, ...]:
    reading = READINGS[c.measure]
    return (
        c.target,
        f"{reading.name}, {c.battery}",
        difference(c),
        estimated(c.estimate, c.interval, reading.contrast),
        *tested_cells(c),
    )
