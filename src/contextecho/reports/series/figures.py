"""The figures of a series: arms by level, and the first contrast in every run."""

from __future__ import annotations

from collections.abc import Iterator

from contextecho.contexts import Arm
from contextecho.counting import counted
from contextecho.reports.axes import axis_over, reach
from contextecho.reports.captions import identify, intervals_named
from contextecho.reports.figures import Forest, Line, Mark, Panel, Row, Station, Trajectory
from contextecho.reports.forests import contrast_mark
from contextecho.reports.headline import difference, direction
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.trajectories import mean_mark, unplanned_mark
from contextecho.reports.typeset import listing
from contextecho.reports.view import View, view_of
from contextecho.scoring import Contrast, Measure, Part, SeriesAnalysis

LEVELS, SERIES = "levels", "series"


def figures_of(series: SeriesAnalysis) -> tuple[Trajectory | Forest, ...]:
    """Every figure that the numbers of a series allow."""
    return (*_by_level(series), *_contrasts(series))


def _contrasts(series: SeriesAnalysis) -> Iterator[Forest]:
    """The first contrast of the study in each run; one figure a target, battery and measure."""
    if not series.study.contrasts:
        return
    first = series.study.contrasts[0].id
    surfaces = dict.fromkeys(
        (c.target, c.battery, c.measure)
        for part in series.parts
        for c in part.contrasts
        if c.id == first and c.estimate is not None
    )
    for target, battery, measure in surfaces:
        found = [
            (part, c)
            for part in series.parts
            for c in part.contrasts
            if (c.target, c.battery, c.measure, c.id) == (target, battery, measure, first)
        ]
        yield _forest(series, target, battery, measure, found)


def _forest(
    series: SeriesAnalysis,
    target: str,
    battery: str,
    measure: Measure,
    found: list[tuple[Part, Contrast]],
) -> Forest:
    reading, name = READINGS[measure], difference(found[0][1])
    rows = [
        Row(label=_row(series, part), marks=(contrast_mark(c, f"{name}, {_row(series, part)}"),))
        for part, c in found
    ]
    rows += [
        Row(label=label, marks=(contrast_mark(c, f"{name}, {label}"),))
        for level, c in series.pooled
        if (c.target, c.battery, c.measure, c.id) == (target, battery, measure, found[0][1].id)
        for label in (f"all sessions{f', {level}' if level else ''}",)
    ]
    marks = [mark for row in rows for mark in row.marks]
    apart = sum(bool(direction(c)) for _, c in found)
    kinds = intervals_named(c.interval for _, c in found)
    return Forest(
        id=identify(SERIES, reading.name, battery, target),
        family=SERIES,
        title=f"{name.capitalize()} in every run: {target}",
        finding=(
            f"The interval lies wholly on one side of no difference in {apart} of "
            f"{counted(len(found), 'run')}."
        ),
        caption=(
            f"{reading.name.capitalize()}, battery {battery}, with {kinds}. Runs are compared with "
            "each other in “Changes”, not by whether their intervals touch."
        ),
        provenance=_provenance(series, target, battery),
        panels=(
            Panel(
                title="",
                axis=axis_over(
                    reach(marks),
                    f"{name} ({reading.name})",
                    reading.contrast,
                    reference=reading.contrast.neutral,
                ),
                rows=tuple(rows),
            ),
        ),
    )


def _by_level(series: SeriesAnalysis) -> Iterator[Trajectory]:
    """The arms' means at each level of a group, on the first session."""
    session = series.sessions[0]
    parts = [p for p in series.parts if p.session == session and p.level]
    groups = dict.fromkeys(p.level.group for p in parts if p.level)
    for group in groups:
        members = [p for p in parts if p.level and p.level.group == group]
        if len(members) > 1:
            views = [view_of(p.analysis) for p in members]
            for measure in (Measure.REGISTER, Measure.COMPLIANCE, Measure.LENGTH):
                for battery in views[0].surfaces(measure):
                    for target in views[0].targets:
                        yield _levels(series, members, views, group, target, battery, measure)


def _levels(
    series: SeriesAnalysis,
    members: list[Part],
    views: list[View],
    group: str | None,
    target: str,
    battery: str,
    measure: Measure,
) -> Trajectory:
    reading = READINGS[measure]
    lines = tuple(
        Line(
            series=arm.value,
            marks=tuple(
                _mark(view, part, target, battery, measure, arm)
                for part, view in zip(members, views, strict=True)
            ),
        )
        for arm in views[0].arms
    )
    lines = tuple(line for line in lines if any(m.value is not None for m in line.marks))
    marks = [mark for line in lines for mark in line.marks]
    what = f"{series.study.varies}{f' ({group})' if group else ''}"
    return Trajectory(
        id=identify(LEVELS, reading.name, battery, group or "", target),
        family=LEVELS,
        title=f"{reading.name.capitalize()} by {what}: {target}",
        finding="How the arms lie at each level; “Changes” tests the differences between levels.",
        caption=(
            f"Battery {battery}, session {series.sessions[0]}. Each point is an arm's mean over "
            "the whole run of its level. Levels stand at equal distances, not to scale."
        ),
        provenance=_provenance(series, target, battery),
        along="level",
        axis=axis_over(reach(marks), reading.axis, reading.mean, bounds=reading.bounds),
        stations=tuple(
            Station(label=part.name, row_turn=None, step=None, prompt=None, segment=None)
            for part in members
        ),
        lines=lines,
    )


def _mark(view: View, part: Part, target: str, battery: str, measure: Measure, arm: Arm) -> Mark:
    mean = view.mean(target, measure, battery, arm, None)
    label = f"{series_name(arm.value)}, {part.name}"
    return unplanned_mark(arm, measure, label) if mean is None else mean_mark(mean, label)


def _row(series: SeriesAnalysis, part: Part) -> str:
    """What sets a run apart: its level, its session, or both."""
    several = len(series.sessions) > 1
    return f"{part.name}, {part.session}" if part.level and several else part.name


def _provenance(series: SeriesAnalysis, target: str, battery: str) -> dict[str, str]:
    return {
        "study": f"{series.study.id} {series.study.version}",
        "runs": listing([part.analysis.run.id for part in series.parts]),
        "sessions": listing(series.sessions),
        "target": target,
        "battery": battery,
    }
