"""The negative controls: if a plain fact moves between the arms, so may anything.

The one thing to know: a guard compares control and session on questions whose answer
no context should change. With a judge the register is compared, and always whether
the right answer is there, because the rubric gives plain facts its ceiling in every
arm and the register alone could hardly move (reference, flaw 14).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextecho.contexts import Arm
from contextecho.scoring.contrasts import contrast
from contextecho.scoring.model import OVERALL, Contrast, Guard, Measure
from contextecho.scoring.scores import MEASURES, ScoredCell, Slice
from contextecho.stimuli import StimulusKind
from contextecho.studies import ContrastSpec

# A gap at least this large whose interval excludes zero is a movement: on the register
# (0..3) one reply in seven a level lower, on right answers (0..1) one in seven wrong.
THRESHOLD = 0.15

_SPEC = ContrastSpec(
    id="negative-controls",
    minus_from=Arm.CONTROL,
    minus=Arm.SESSION,
    question="Do plain facts move between the arms?",
)
_CEILING = "plain facts score 3 in every arm, so this guard can hardly move; see right answers"


def guards_of(
    targets: Iterable[str],
    battery: str | None,
    slices: Mapping[Slice, Sequence[ScoredCell]],
    measures: Iterable[Measure],
) -> tuple[Guard, ...]:
    """One guard a target and measure; `battery` is the study's negative-control battery."""
    wanted = [m for m in MEASURES[StimulusKind.NEGATIVE_CONTROL] if m in set(measures)]
    return tuple(_guard(target, battery, m, slices) for target in targets for m in wanted)


def _guard(
    target: str,
    battery: str | None,
    measure: Measure,
    slices: Mapping[Slice, Sequence[ScoredCell]],
) -> Guard:
    arms = [
        slices.get(Slice(target, arm, battery), ()) if battery else ()
        for arm in (_SPEC.minus_from, _SPEC.minus)
    ]
    if not all(arms):
        note = "negative controls were not collected in both arms"
        return Guard(target=target, measure=measure, moved=None, contrast=None, note=note)
    found = contrast(_SPEC, measure, *arms, scope=OVERALL, family=None)
    moved, note = read_movement(found)
    if measure is Measure.REGISTER:
        note = f"{note}; {_CEILING}"
    return Guard(target=target, measure=measure, moved=moved, contrast=found, note=note)


def read_movement(found: Contrast) -> tuple[bool | None, str]:
    """Whether a negative control moved (None: too few to tell), in a few words."""
    if found.estimate is None:
        return None, found.note or "no estimate"
    large = abs(found.estimate) >= THRESHOLD
    if found.interval is None:
        if found.clusters < 2:
            return None, "one position shows no spread to judge a movement by"
        return large, "moved, and by the same in every position" if large else "did not move"
    low, high = found.interval.low, found.interval.high
    if low <= 0.0 <= high and max(-low, high) >= THRESHOLD:
        return None, "too few to tell"  # nothing and a movement are both within the interval
    moved = large and not low <= 0.0 <= high
    return moved, "moved" if moved else "did not move"
