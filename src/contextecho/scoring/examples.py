"""Replies side by side: the same question at the same position, one reply an arm.

The one thing to know: they are chosen by rule, not by taste. The cells with the
largest difference in register between the two arms of the study's first contrast
come first (without a judge: in PC1), at most one a question and target. Of equal
ones, the position shown least so far comes first, then plan order: a scale of four
levels makes many ties, and one position would fill the page. So they show the
strongest cases, and a report must say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from contextecho.contexts import Arm
from contextecho.scoring.model import Example, Measure, ShownReply
from contextecho.scoring.planned import Planned
from contextecho.scoring.scores import ScoredCell
from contextecho.stimuli import StimulusKind
from contextecho.studies import ContrastSpec

MAXIMUM_EXAMPLES = 6


class _Question(NamedTuple):
    target: str
    position: str
    battery: str
    stimulus: str
    paraphrase: int
    replicate: int


def choose_examples(
    planned: Planned, cells: Iterable[ScoredCell], measures: Iterable[Measure]
) -> tuple[Example, ...]:
    """Up to six examples, those with the largest difference first."""
    if not planned.study.contrasts:
        return ()
    first = planned.study.contrasts[0]
    measure = Measure.REGISTER if Measure.REGISTER in set(measures) else Measure.FINGERPRINT
    questions: dict[_Question, dict[Arm, ScoredCell]] = {}
    for scored in cells:
        if scored.kind is StimulusKind.PROBE:
            c = scored.cell
            asked = c.target, c.position, c.battery, c.stimulus, c.paraphrase, c.replicate
            questions.setdefault(_Question(*asked), {})[c.arm] = scored
    apart = {at: _difference(arms, first, measure) for at, arms in questions.items()}
    chosen = islice(_ranked({at: d for at, d in apart.items() if d}), MAXIMUM_EXAMPLES)
    return tuple(_example(planned, questions[at]) for at in chosen)


def _ranked(apart: Mapping[_Question, float]) -> Iterator[_Question]:
    """Questions by the rule above; `apart` is in plan order."""
    left = list(apart)
    shown: Counter[str] = Counter()  # by position
    while left:
        best = min(left, key=lambda at: (-apart[at], shown[at.position]))
        yield best
        shown[best.position] += 1
        same = best.target, best.stimulus
        left = [at for at in left if (at.target, at.stimulus) != same]


def _difference(
    arms: Mapping[Arm, ScoredCell], first: ContrastSpec, measure: Measure
) -> float | None:
    """How far the contrast's arms lie apart; None where one of them has no number."""
    if first.minus_from not in arms or first.minus not in arms:
        return None
    a, b = arms[first.minus_from].value(measure), arms[first.minus].value(measure)
    return None if a is None or b is None else abs(a - b)


def _example(planned: Planned, arms: Mapping[Arm, ScoredCell]) -> Example:
    cell = next(iter(arms.values())).cell
    return Example(
        target=cell.target,
        position=cell.position,
        stimulus=cell.stimulus,
        question=planned.wording(cell),
        replies={arm.value: _shown(arms[arm]) for arm in Arm if arm in arms},
    )


def _shown(scored: ScoredCell) -> ShownReply:
    verdict = scored.verdict
    return ShownReply(
        text=scored.text,
        outcome=scored.outcome.value,
        register=verdict.value if verdict else None,
        reason=verdict.invalid or verdict.detail.get("reason") if verdict else None,
    )
