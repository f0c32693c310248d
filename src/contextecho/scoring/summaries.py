"""Per arm: how many replies there are and what became of them, and their means.

The one thing to know: a mean is weighted as the gap is (paraphrases in stimuli in
positions), so that the means of two complete arms differ by exactly the gap.

A denominator counts places in the plan. A mean counts replies: in an arm without
context one reply stands at every position, and enters once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextecho.contexts import Arm
from contextecho.scoring.model import ArmMean, Denominator, Measure
from contextecho.scoring.scores import JUDGED_KINDS, MEASURES, Outcome, ScoredCell, Slice
from contextecho.stats import cluster_mean_interval, proportion_mean


def denominators_of(slices: Mapping[Slice, Sequence[ScoredCell]]) -> tuple[Denominator, ...]:
    """What became of every planned reply, by target, arm and battery."""
    return tuple(_denominator(where, cells) for where, cells in slices.items())


def _denominator(where: Slice, cells: Sequence[ScoredCell]) -> Denominator:
    outcomes = Counter(c.outcome for c in cells)
    verdicts = [c.verdict for c in cells if c.verdict and c.kind in JUDGED_KINDS]
    judged = sum(v.value is not None for v in verdicts)
    return Denominator(
        target=where.target,
        arm=where.arm,
        battery=where.battery,
        planned=len(cells),
        answered=outcomes[Outcome.ANSWERED],
        refused=outcomes[Outcome.REFUSED],
        truncated=outcomes[Outcome.TRUNCATED],
        empty=outcomes[Outcome.EMPTY],
        failed=outcomes[Outcome.FAILED],
        missing=outcomes[Outcome.MISSING],
        judged=judged,
        unjudged=len(verdicts) - judged,
    )


def arm_means_of(
    slices: Mapping[Slice, Sequence[ScoredCell]], measures: Iterable[Measure]
) -> tuple[ArmMean, ...]:
    """Means of every measure in every arm, over all positions and at each."""
    wanted = set(measures)
    return tuple(
        mean
        for where, cells in slices.items()
        for measure in Measure
        if measure in wanted
        for mean in _means(where, measure, [c for c in cells if measure in MEASURES[c.kind]])
    )


def _means(where: Slice, measure: Measure, cells: Sequence[ScoredCell]) -> Iterator[ArmMean]:
    if not cells:
        return
    yield _mean(where, measure, cells, None)
    by_position: dict[str, list[ScoredCell]] = {}
    for cell in cells:
        by_position.setdefault(cell.cell.position, []).append(cell)
    for position, members in by_position.items():
        yield _mean(where, measure, members, position)


def _mean(
    where: Slice, measure: Measure, cells: Sequence[ScoredCell], position: str | None
) -> ArmMean:
    # Scratch replies are one set shown at every position, so positions are no clusters there.
    shared = where.arm is Arm.SCRATCH
    asked = list({c.key: c for c in cells}.values()) if shared else cells
    scored = [(c, value) for c in asked if (value := c.value(measure)) is not None]
    interval_of = proportion_mean if measure is Measure.COMPLIANCE else cluster_mean_interval
    estimate = interval_of(
        [value for _, value in scored],
        ["" if shared else c.cell.position for c, _ in scored],
        stimuli=[c.cell.stimulus for c, _ in scored],
    )
    return ArmMean(
        target=where.target,
        arm=where.arm,
        position=position,
        measure=measure,
        battery=where.battery,
        mean=estimate.mean,
        interval=estimate.interval,
        n=len(scored),
        planned=len(asked),
    )
