"""Forest figures: the arms of each target, the contrast by scope, contracts and length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from contextecho.counting import counted
from contextecho.reports.axes import axis_over, reach
from contextecho.reports.captions import bars, identify, provenance, withheld
from contextecho.reports.figures import Forest, Mark, Panel, Row
from contextecho.reports.headline import difference, direction, stated
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import ESTIMATE, series_name
from contextecho.reports.trajectories import mean_mark
from contextecho.reports.typeset import p_value
from contextecho.reports.view import View
from contextecho.scoring import OVERALL, Contrast, Measure

ARMS, CONTRASTS, CONTRACTS = "arms", "contrasts", "contracts"


def arm_forests(view: View) -> Iterator[Forest]:
    """The arms of every target on the measures the run is about."""
    for measure in view.lead:
        for battery in view.probes(measure):
            panel = _arm_panel(view, measure, battery, title="")
            if panel:
                reading = READINGS[measure]
                yield Forest(
                    id=identify(ARMS, reading.name, battery),
                    family=ARMS,
                    title=f"{reading.name.capitalize()} over the whole session",
                    finding=_arms_finding(view, measure, battery),
                    caption=(
                        f"Battery {battery}. {bars(view, measure, overall=True)} A line "
                        "that joins two arms is their difference on paired replies, with its "
                        "number at its right."
                    ),
                    provenance=provenance(view, battery, *view.targets),
                    panels=(panel,),
                )


def contract_forests(view: View) -> Iterator[Forest]:
    """Compliance and length of each battery of stressors, one above the other."""
    for battery in view.contracts:
        panels = (
            _arm_panel(view, Measure.COMPLIANCE, battery, title="compliance"),
            _arm_panel(view, Measure.LENGTH, battery, title="length"),
        )
        drawn = tuple(panel for panel in panels if panel)
        if drawn:
            yield Forest(
                id=identify(CONTRACTS, battery),
                family=CONTRACTS,
                title=f"Compliance and length on {battery}",
                finding=_arms_finding(view, Measure.COMPLIANCE, battery),
                caption=(
                    f"{bars(view, Measure.COMPLIANCE, overall=True)} Compliance is checked by "
                    "rules, length is counted; no judge takes part. Length stands on a log axis, "
                    "and its differences are ratios. A line that joins two arms is their "
                    "difference on paired replies, with its number at its right."
                ),
                provenance=provenance(view, battery, *view.targets),
                panels=drawn,
            )


def contrast_forests(view: View) -> Iterator[Forest]:
    """The headline contrast overall, by category and by position; one figure a target."""
    for measure in view.lead:
        for battery in view.probes(measure):
            for target in view.targets:
                found = tuple(
                    c for c in view.contrasts(target, measure, battery) if c.id == view.headline_id
                )
                if len(found) > 1:
                    yield _contrast_forest(view, target, measure, battery, found)


def contrast_mark(contrast: Contrast, label: str) -> Mark:
    """A contrast as a mark, with its pairs as n."""
    interval = contrast.interval
    return Mark(
        series=ESTIMATE,
        name=difference(contrast),
        label=label,
        value=contrast.estimate,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=contrast.pairs,
        planned=contrast.planned_pairs,
        unit="pair",
        quantity=READINGS[contrast.measure].contrast,
        note=contrast.note,
        flat=contrast.estimate is not None and interval is None and contrast.units > 1,
        between=(contrast.minus_from.value, contrast.minus.value),
    )


def _arm_panel(view: View, measure: Measure, battery: str, *, title: str) -> Panel | None:
    rows = []
    for target in view.targets:
        means = [view.mean(target, measure, battery, arm, None) for arm in view.arms]
        prefix = f"{title}: {target}" if title else target
        marks = tuple(
            mean_mark(m, f"{prefix}, {series_name(m.arm.value)}") for m in means if m is not None
        )
        margin = tuple(
            contrast_mark(c, f"{prefix}, {difference(c)}")
            for c in view.contrasts(target, measure, battery, OVERALL)
        )
        if any(mark.value is not None for mark in marks):
            rows.append(Row(label=target, marks=marks, margin=margin))
    if not rows:
        return None
    reading = READINGS[measure]
    marks = tuple(mark for row in rows for mark in row.marks)
    axis = axis_over(reach(marks), reading.axis, reading.mean, bounds=reading.bounds)
    return Panel(title=title, axis=axis, rows=tuple(rows))


def _arms_finding(view: View, measure: Measure, battery: str) -> str:
    reason = withheld(view, *view.targets)
    if reason:
        return reason
    found = [view.headline(target, measure, battery) for target in view.targets]
    known = [c for c in found if c is not None]
    if not known:
        return "The study declares no contrast on this measure."
    if len(known) == 1:
        return f"Overall {stated(known[0])}."
    apart = sum(bool(direction(c)) for c in known)
    return (
        f"The interval of {difference(known[0])} lies wholly on one side of no difference "
        f"for {apart} of {counted(len(known), 'target')}."
    )


def _contrast_forest(
    view: View, target: str, measure: Measure, battery: str, found: tuple[Contrast, ...]
) -> Forest:
    reading = READINGS[measure]
    name = difference(found[0])
    rows = tuple(
        Row(label=_scope(c.scope), marks=(contrast_mark(c, f"{name}, {_scope(c.scope)}"),))
        for c in found
    )
    marks = tuple(mark for row in rows for mark in row.marks)
    axis = axis_over(
        reach(marks),
        f"{name} ({reading.name})",
        reading.contrast,
        reference=reading.contrast.neutral,
    )
    return Forest(
        id=identify(CONTRASTS, reading.name, battery, target),
        family=CONTRASTS,
        title=f"{name.capitalize()} by category and position: {target}",
        finding=withheld(view, target) or _scopes_finding(view, found),
        caption=(
            f"{name.capitalize()} on {reading.name}, battery {battery}, over the whole run, by "
            "category, by position and, where they differ, by conditions. “All differences” has "
            "the p-values and Holm's correction."
        ),
        provenance=provenance(view, battery, target),
        panels=(Panel(title="", axis=axis, rows=rows),),
    )


def _scope(scope: str) -> str:
    """As a row is named: `category NAME`, else what stands behind the kind of scope."""
    return scope.removeprefix("position:").removeprefix("conditions:").replace(":", " ", 1)


def _scopes_finding(view: View, found: tuple[Contrast, ...]) -> str:
    tested = [c for c in found if c.scope != OVERALL and c.p_holm is not None]
    if not tested:
        return "No single category or position could be tested."
    apart = sum(c.p_holm is not None and c.p_holm < 0.05 for c in tested)
    parts = counted(len(tested), "category or position", "categories and positions")
    floor = _floor(view, tested)
    return f"After Holm's correction, {apart} of {parts} differ at the 5 % level.{floor}"


def _floor(view: View, tested: list[Contrast]) -> str:
    """Why few adjusted p can be small, where the test has too few units to flip."""
    families = Counter(c.family for c in view.analysis.contrasts if c.p is not None)
    coarse = [c for c in tested if families[c.family] * _smallest_p(c) >= 0.05]
    if not coarse:
        return ""
    few = min(coarse, key=lambda c: c.units)
    return (
        " The test flips the signs of whole units, positions or the questions of one: with "
        f"{few.units:,} no p lies below {p_value(_smallest_p(few))}, and Holm multiplies it by up "
        f"to {families[few.family]}, so many intervals may lie clear of no difference while "
        "few adjusted p are small."
    )


def _smallest_p(contrast: Contrast) -> float:
    return 2.0 ** (1 - contrast.units)
