"""Every kind of run that a report must survive: full, judge-free, holed, unread, empty."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from contextecho.scoring import Contrast, Measure, RunAnalysis
from reports.runs import around, make_analysis


def unscored(contrast: Contrast, why: str) -> Contrast:
    """The contrast, had no pair of it a score."""
    return msgspec.structs.replace(
        contrast,
        estimate=None,
        interval=None,
        percentile=None,
        p=None,
        p_holm=None,
        pairs=0,
        clusters=0,
        units=0,
        note=why,
    )


def empty_analysis() -> RunAnalysis:
    """A run that was planned and in which nobody answered."""
    full = make_analysis(positions=5)
    replace = msgspec.structs.replace
    return replace(
        full,
        denominators=tuple(
            replace(d, answered=0, refused=0, failed=d.planned, missing=0, judged=0, unjudged=0)
            for d in full.denominators
        ),
        arm_means=tuple(replace(m, mean=None, interval=None, n=0) for m in full.arm_means),
        contrasts=tuple(
            unscored(c, "0 of the planned pairs were collected") for c in full.contrasts
        ),
        fingerprints=(),
        examples=(),
        judge=None,
        guards=tuple(
            replace(g, moved=None, contrast=None, note="negative controls were not collected")
            for g in full.guards
        ),
    )


def withheld_analysis() -> RunAnalysis:
    """A run whose negative controls moved."""
    full = make_analysis(positions=5)
    replace = msgspec.structs.replace
    held, moved = full.guards
    assert moved.contrast is not None
    contrast = replace(moved.contrast, estimate=0.4, interval=around(0.4, 0.2))
    target = full.run.targets[0]
    return replace(
        full,
        guards=(held, replace(moved, moved=True, note="moved", contrast=contrast)),
        headline_withheld=(f"{target}: no headline, because the negative controls moved",),
    )


def gapped_analysis() -> RunAnalysis:
    """A run with holes: means without interval, means without value, half the pairs."""
    full = make_analysis(positions=5)
    replace = msgspec.structs.replace
    means = [
        replace(m, mean=None, interval=None, n=0)
        if i % 7 == 0
        else replace(m, interval=None, n=3)
        if i % 5 == 0
        else m
        for i, m in enumerate(full.arm_means)
    ]
    contrasts = [
        replace(c, pairs=c.pairs // 2, note="half of the pairs are missing") if i % 3 == 0 else c
        for i, c in enumerate(full.contrasts)
    ]
    return replace(full, arm_means=tuple(means), contrasts=tuple(contrasts))


def unreadable_analysis() -> RunAnalysis:
    """A run whose judge was asked, and of whose verdicts none could be read."""
    full = make_analysis(positions=5)
    replace = msgspec.structs.replace
    assert full.judge is not None
    register = Measure.REGISTER
    return replace(
        full,
        denominators=tuple(
            replace(d, judged=0, unjudged=d.judged + d.unjudged) for d in full.denominators
        ),
        arm_means=tuple(
            replace(m, mean=None, interval=None, n=0) if m.measure is register else m
            for m in full.arm_means
        ),
        contrasts=tuple(
            unscored(c, f"{c.pairs} of {c.pairs} planned pairs lack a score")
            if c.measure is register
            else c
            for c in full.contrasts
        ),
        judge=replace(full.judge, judged=0, invalid=494),
    )


SHAPES: dict[str, Callable[[], RunAnalysis]] = {
    "judged": lambda: make_analysis(),
    "judge-free": lambda: make_analysis(2, positions=5, judged=False),
    "three targets": lambda: make_analysis(3, targets=3, positions=5),
    "hostile": lambda: make_analysis(4, positions=5, hostile=True),
    "one position": lambda: make_analysis(5, positions=1),
    "gapped": gapped_analysis,
    "unreadable judge": unreadable_analysis,
    "withheld": withheld_analysis,
    "empty": empty_analysis,
}
