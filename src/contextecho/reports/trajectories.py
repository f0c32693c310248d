"""Trajectory figures: each measure of each target along the session."""

from __future__ import annotations

from collections.abc import Iterator

from contextecho.contexts import Arm
from contextecho.reports.axes import axis_over, reach
from contextecho.reports.captions import bars, identify, provenance, withheld
from contextecho.reports.figures import Line, Mark, Station, Trajectory, compactions_before
from contextecho.reports.headline import stated
from contextecho.reports.measures import READINGS, is_flat, shown_mean
from contextecho.reports.palette import series_name
from contextecho.reports.view import View
from contextecho.scoring import ArmMean, Measure

FAMILY = "trajectory"
_ORDER = (Measure.REGISTER, Measure.FINGERPRINT, Measure.LENGTH)


def trajectories(view: View) -> Iterator[Trajectory]:
    """One figure a measure, battery and target, where there are two positions to join."""
    for measure in _ORDER:
        for battery in view.probes(measure):
            for target in view.targets:
                lines = _lines(view, target, measure, battery)
                if lines and len(view.stations) > 1:
                    yield _trajectory(view, target, measure, battery, lines)


def mean_mark(mean: ArmMean, label: str) -> Mark:
    """An arm mean as a mark, in the shown unit."""
    value, low, high = shown_mean(mean.measure, mean.mean, mean.interval)
    return Mark(
        series=mean.arm.value,
        name=series_name(mean.arm.value),
        label=label,
        value=value,
        low=low,
        high=high,
        n=mean.n,
        planned=mean.planned,
        unit="reply",
        quantity=READINGS[mean.measure].mean,
        note=_why_bare(mean),
        flat=is_flat(mean),
    )


def unplanned_mark(arm: Arm, measure: Measure, label: str) -> Mark:
    """The mark of an arm where the plan has none."""
    return Mark(
        series=arm.value,
        name=series_name(arm.value),
        label=label,
        value=None,
        low=None,
        high=None,
        n=0,
        planned=0,
        unit="reply",
        quantity=READINGS[measure].mean,
        note="not part of the plan",
    )


def _why_bare(mean: ArmMean) -> str | None:
    """Why there is no number, or none beside it."""
    if mean.mean is None:
        return f"{mean.n} of {mean.planned} replies could be scored"
    return "no spread, so no interval" if is_flat(mean) else None


def _lines(view: View, target: str, measure: Measure, battery: str) -> tuple[Line, ...]:
    lines = (
        Line(
            series=arm.value,
            marks=tuple(
                _mark_at(view, target, measure, battery, arm, station) for station in view.stations
            ),
        )
        for arm in view.arms
    )
    return tuple(line for line in lines if any(m.value is not None for m in line.marks))


def _mark_at(
    view: View, target: str, measure: Measure, battery: str, arm: Arm, station: Station
) -> Mark:
    label = f"{series_name(arm.value)}, {station.label}"
    mean = view.mean(target, measure, battery, arm, station.label)
    return unplanned_mark(arm, measure, label) if mean is None else mean_mark(mean, label)


def _trajectory(
    view: View, target: str, measure: Measure, battery: str, lines: tuple[Line, ...]
) -> Trajectory:
    reading = READINGS[measure]
    marks = [mark for line in lines for mark in line.marks]
    return Trajectory(
        id=identify(FAMILY, reading.name, battery, target),
        family=FAMILY,
        title=f"{reading.name.capitalize()} along the session: {target}",
        finding=_finding(view, target, measure, battery, lines),
        caption=_caption(view, measure, battery, lines),
        provenance=provenance(view, battery, target),
        axis=axis_over(reach(marks), reading.axis, reading.mean, bounds=reading.bounds),
        stations=view.stations,
        lines=lines,
    )


def _caption(view: View, measure: Measure, battery: str, lines: tuple[Line, ...]) -> str:
    unseen = compactions_before(view.stations)
    return " ".join(
        (
            f"Battery {battery}. {bars(view, measure, overall=False)} Positions stand at equal "
            "distances, not to scale; under each are its row turn, agent step and user prompt. "
            "Dashed rules are compactions between two positions.",
            *((f"{unseen} before the first position.",) if unseen else ()),
            *(
                ("Scratch is one set of replies, shown at every position.",)
                if any(line.series == Arm.SCRATCH for line in lines)
                else ()
            ),
        )
    )


def _finding(
    view: View, target: str, measure: Measure, battery: str, lines: tuple[Line, ...]
) -> str:
    reason = withheld(view, target)
    if reason:
        return reason
    contrast = view.headline(target, measure, battery)
    if contrast is None:
        return "The study declares no contrast on this measure."
    by_series = {line.series: line.marks for line in lines}
    pairs = [
        (a.value, b.value)
        for a, b in zip(
            by_series.get(contrast.minus_from.value, ()),
            by_series.get(contrast.minus.value, ()),
            strict=False,
        )
        if a.value is not None and b.value is not None
    ]
    above = sum(a > b for a, b in pairs)
    return (
        f"{series_name(contrast.minus_from).capitalize()} lies above {series_name(contrast.minus)} "
        f"at {above} of {len(pairs)} positions with both; overall {stated(contrast)}."
    )
