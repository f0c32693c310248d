"""What a run does not have: replies, verdicts, numbers, controls, provenance.

A report without this list would let a reader take silence for a zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextecho.contexts import CONTROL_TOLERANCE, Arm
from contextecho.counting import counted
from contextecho.reports.headline import difference
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.typeset import listing
from contextecho.reports.view import View
from contextecho.scoring import OVERALL, Denominator, Measure


def missing(view: View) -> tuple[str, ...]:
    """One sentence for each thing that a reader might think is there."""
    return (
        *_replies(view),
        *_verdicts(view),
        *_numbers(view),
        *_controls(view),
        *_matching(view),
        *_provenance(view),
    )


def _replies(view: View) -> Iterator[str]:
    for target in view.targets:
        for arm in view.arms:
            found = [d for d in view.analysis.denominators if d.target == target and d.arm is arm]
            gone = [
                f"{total:,} {name}"
                for name, total in (
                    ("refused", sum(d.refused for d in found)),
                    ("truncated", sum(d.truncated for d in found)),
                    ("empty", sum(d.empty for d in found)),
                    ("failed", sum(d.failed for d in found)),
                    ("not collected", sum(d.missing for d in found)),
                )
                if total
            ]
            if gone:
                planned = counted(sum(d.planned for d in found), "planned reply")
                if arm is Arm.SCRATCH:
                    planned += _distinct(view, found)
                yield (
                    f"{target}, {series_name(arm.value)}: of {planned}, {listing(gone)}. "
                    "None of them was scored."
                )


def _distinct(view: View, found: list[Denominator]) -> str:
    total = sum(d.planned for d in found)
    distinct = sum(view.distinct(d.target, d.battery, d.arm, d.planned) for d in found)
    return f" ({distinct:,} distinct)" if distinct != total else ""


def _verdicts(view: View) -> Iterator[str]:
    if view.analysis.judge is None:
        yield (
            "No judge was asked: there are no register scores, and every number here comes from "
            "counting and from rules."
        )
    for target in view.targets:
        unread = sum(d.unjudged for d in view.analysis.denominators if d.target == target)
        if unread:
            yield (
                f"{target}: the judge's verdict on {counted(unread, 'answer')} could not be read; "
                f"{'it is' if unread == 1 else 'they are'} left out."
            )


def _numbers(view: View) -> Iterator[str]:
    for c in view.analysis.contrasts:
        if c.estimate is None and c.scope == OVERALL:
            yield (
                f"{c.target}: {difference(c)} on {READINGS[c.measure].name}, {c.battery}, has no "
                f"number: {c.note or 'the reason was not recorded'}."
            )
    parts = sum(c.estimate is None and c.scope != OVERALL for c in view.analysis.contrasts)
    if parts:
        yield (
            f"{counted(parts, 'difference')} by category or position "
            f"{'has' if parts == 1 else 'have'} no number; the table of all differences says why."
        )


def _controls(view: View) -> Iterator[str]:
    for arm, loss in (
        (Arm.SCRATCH, "how the model answers with no context at all is not known"),
        (Arm.CONTROL, "nothing tells the session's effect from that of any long text"),
        (Arm.SESSION_ANCHOR, "whether an anchor brings the register back was not asked"),
        (Arm.CONTROL_ANCHOR, "an anchor's own effect, without the session, was not measured"),
    ):
        if arm not in view.arms:
            yield f"The {series_name(arm.value)} arm was not collected: {loss}."
    guarded = {g.target for g in view.analysis.guards if g.moved is not None}
    for target in view.targets:
        if target not in guarded:
            yield (
                f"{target}: no negative control can tell whether plain facts moved, so nothing "
                "guards its headline."
            )
    if Measure.COMPLIANCE not in {m.measure for m in view.analysis.arm_means}:
        yield "No stressors were collected: there is no compliance rate."


def _matching(view: View) -> Iterator[str]:
    off = [
        f"{label} ({ratio:.3f})"
        for label, ratio in view.plan.control_ratio.items()
        if abs(ratio - 1.0) > CONTROL_TOLERANCE + 1e-9
    ]
    if off:
        yield (
            "Control and session prefixes differ by more than 2 % in tokens at "
            f"{listing(off)}: control ÷ session."
        )


def _provenance(view: View) -> Iterator[str]:
    plan = view.plan
    unknown = [
        name
        for name, value in (
            ("the study", plan.study),
            ("the protocol", plan.protocol),
            ("the session's hash", plan.session_sha256),
            ("the positions", plan.positions),
            ("the snapshots", plan.snapshots),
            ("the tokenizer", plan.token_counter),
            ("the batteries", plan.batteries),
            ("the decoding", plan.decoding),
            ("the versions", view.analysis.run.versions),
        )
        if not value
    ]
    if unknown:
        yield f"Not recorded with this run: {listing(unknown)}."
