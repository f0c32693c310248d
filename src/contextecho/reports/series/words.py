"""A series in plain sentences: each run's first contrast, and what changes between levels."""

from __future__ import annotations

from collections.abc import Iterator

from contextecho.counting import counted
from contextecho.reports.captions import WITHHELD
from contextecho.reports.headline import stated, too_few
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.typeset import Quantity, estimated, p_value
from contextecho.scoring import GapChange, Part, SeriesAnalysis
from contextecho.untrusted import make_visible


def brief_series(series: SeriesAnalysis) -> str:
    """The series as text for a terminal."""
    lines = [f"{series.study.id}: {counted(len(series.parts), 'run')}. {series.study.question}"]
    for part in series.parts:
        lines.append(f"{part.name} (run {part.analysis.run.id})")
        lines += [f"  {said}" for said in said_of(series, part)]
    lines += [
        f"all sessions{f', {level}' if level else ''}: {READINGS[c.measure].name} "
        f"({c.battery}): {stated(c)}"
        for level, c in series.pooled
    ]
    lines += [f"change, {said}" for said in changes_said(series.changes)]
    return make_visible("\n".join(lines))


def said_of(series: SeriesAnalysis, part: Part) -> Iterator[str]:
    """What the first contrast of the study is in one run."""
    if part.analysis.headline_withheld:
        yield WITHHELD
        return
    first = series.study.contrasts[0].id if series.study.contrasts else None
    for c in part.contrasts:
        if c.id == first:
            held = f", p {p_value(c.p_holm)} after Holm" if c.p_holm is not None else ""
            yield f"{c.target}: {READINGS[c.measure].name} ({c.battery}): {stated(c)}{held}"


def changes_said(changes: tuple[GapChange, ...]) -> Iterator[str]:
    """One sentence a change that rests on enough."""
    for change in changes:
        what = f"{change.target}, {READINGS[change.measure].name} ({change.battery})"
        of = f"{series_name(change.minus_from)} against {series_name(change.minus)}"
        yield f"{change.before} to {change.after}, {what}: {of} {_by(change)}"


def _by(change: GapChange) -> str:
    if change.estimate is None:
        return f"no number: {change.note}"
    if too_few(change):
        return f"n too small to state: {counted(change.pairs, 'question')}"
    quantity = READINGS[change.measure].contrast
    sign = "×" if quantity is Quantity.RATIO else "by"
    asked = counted(change.pairs, "question")
    return f"changes {sign} {estimated(change.estimate, change.interval, quantity)}, {asked}"
