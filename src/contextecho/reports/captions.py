"""What every figure says about itself: its id, its bars, where its numbers come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from contextecho.reports.measures import is_flat
from contextecho.reports.typeset import listing
from contextecho.reports.view import View
from contextecho.scoring import Measure
from contextecho.stats import Interval

NO_INTERVALS = "no intervals"
WITHHELD = (
    "Headline withheld: a negative control moved. The numbers below are for inspection, "
    "not for a conclusion."
)


def identify(*parts: str) -> str:
    """A readable id that is also a safe file name: `trajectory-register-coding-self-openai-x`."""
    return re.sub(r"[^a-z0-9.]+", "-", "-".join(parts).lower()).strip("-.")[:120]


def withheld(view: View, *targets: str) -> str | None:
    """Why the figure states no finding, if a target of it may have none."""
    return WITHHELD if any(view.moved_guards(target) for target in targets) else None


def bars(view: View, measure: Measure, *, overall: bool) -> str:
    """How the intervals of a measure's arm means were made, over all positions or at each."""
    means = [
        m
        for m in view.analysis.arm_means
        if m.measure is measure and (m.position is None) is overall
    ]
    kinds = intervals_named(m.interval for m in means)
    said = f"Bars are {kinds}." if kinds != NO_INTERVALS else "No interval could be computed."
    flat = " A stroke across a mark: no spread, so no interval." * any(map(is_flat, means))
    return said + flat


def intervals_named(intervals: Iterable[Interval | None]) -> str:
    """`95 % intervals (cluster-t)`, each level and method named once."""
    known = [i for i in intervals if i is not None]
    levels = sorted({f"{100 * i.level:g} %" for i in known})
    methods = sorted({i.method for i in known})
    return f"{listing(levels)} intervals ({listing(methods)})" if known else NO_INTERVALS


def provenance(view: View, battery: str, *targets: str) -> Mapping[str, str]:
    """Which run, data and rules a figure's numbers come from."""
    run, plan = view.analysis.run, view.plan
    facts = {
        "run": run.id,
        "study": f"{plan.study.id} {plan.study.version}" if plan.study else run.study,
        "session": run.session,
        "targets": listing(targets),
        "battery": battery,
    }
    if plan.protocol:
        facts["protocol"] = f"{plan.protocol.id} {plan.protocol.version}"
    if battery in plan.batteries:
        facts["battery"] = f"{battery} {plan.batteries[battery].version}"
        facts["battery_sha256"] = plan.batteries[battery].sha256
    return facts
