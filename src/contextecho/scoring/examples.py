"""Replies side by side: the same question at the same position, one reply an arm.

The one thing to know: they are chosen by rule, not by taste. The cells with the
largest difference in register between the two arms of the study's first contrast
come first (without a judge: in PC1), at most one a question and target, ties in
plan order. So they show the strongest cases, and a report must say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from contextecho.contexts import Arm
from contextecho.scoring.model import Example, Measure, ShownReply
from contextecho.scoring.planned import Planned
from contextecho.scoring.scores import ScoredCell
from contextecho.stimuli import StimulusKind
from contextecho.studies import ContrastSpec

MAXIMUM_EXAMPLES = 6

# target, position, battery, stimulus, paraphrase, replicate
_Question: TypeAlias = tuple[str, str, str, str, int, int]


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
            at = (c.target, c.position, c.battery, c.stimulus, c.paraphrase, c.replicate)
            questions.setdefault(at, {})[c.arm] = scored
    apart = {at: _difference(arms, first, measure) for at, arms in questions.items()}
    ranked = sorted(
        (at for at, difference in apart.items() if difference), key=lambda at: -(apart[at] or 0.0)
    )
    chosen: dict[tuple[str, str], Example] = {}
    for at in ranked:
        cell = next(iter(questions[at].values())).cell
        chosen.setdefault((cell.target, cell.stimulus), _example(planned, questions[at]))
    return tuple(chosen.values())[:MAXIMUM_EXAMPLES]


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
