"""Every cell of a run with what came back and what the scorers read in it.

The one thing to know: only an `Answer` with visible text is scored. A refused,
truncated, empty, failed or missing reply has an outcome and no number at all,
and an answer without a valid verdict has no register (design, section 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from contextecho.contexts import Arm
from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated
from contextecho.scoring.answers import check_answer
from contextecho.scoring.compliance import check_compliance
from contextecho.scoring.contract import Compliance
from contextecho.scoring.features import Features, measure_features
from contextecho.scoring.model import Measure
from contextecho.scoring.planned import Planned
from contextecho.stimuli import Stimulus, StimulusKind
from contextecho.store import StoredReply, Verdict
from contextecho.studies import Cell


class Outcome(StrEnum):
    """What became of a planned cell."""

    ANSWERED = "answer"
    REFUSED = "refusal"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    FAILED = "failed"
    MISSING = "missing"


class ScoredCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A cell with its reply and scores; a score that does not apply, or is missing, is None."""

    cell: Cell
    key: str
    kind: StimulusKind
    category: str
    outcome: Outcome
    text: str
    features: Features | None = None
    compliance: Compliance | None = None
    verdict: Verdict | None = None
    pc1: float | None = None

    def value(self, measure: Measure) -> float | None:
        """The number that enters means and contrasts of `measure`."""
        match measure:
            case Measure.REGISTER:
                return self.verdict.value if self.verdict else None
            case Measure.COMPLIANCE:
                return float(self.compliance.ok) if self.compliance else None
            case Measure.LENGTH:
                return self.features.log_length if self.features else None
            case Measure.FINGERPRINT:
                return self.pc1


# Which measures a kind of stimulus has. Of a negative control, "compliance" is whether
# the right answer is in it.
MEASURES: Mapping[StimulusKind, tuple[Measure, ...]] = {
    StimulusKind.PROBE: (Measure.REGISTER, Measure.LENGTH, Measure.FINGERPRINT),
    StimulusKind.STRESSOR: (Measure.COMPLIANCE, Measure.LENGTH),
    StimulusKind.NEGATIVE_CONTROL: (Measure.REGISTER, Measure.COMPLIANCE),
}

JUDGED_KINDS = frozenset(
    kind for kind, measures in MEASURES.items() if Measure.REGISTER in measures
)


def outcome_of(reply: Reply | None) -> Outcome:
    """What became of a cell, from its reply. White space alone is no answer."""
    match reply:
        case None:
            return Outcome.MISSING
        case Answer():
            return Outcome.ANSWERED if reply.text.strip() else Outcome.EMPTY
        case Refusal():
            return Outcome.REFUSED
        case Truncated():
            return Outcome.TRUNCATED
        case Failed():
            return Outcome.EMPTY if reply.kind is FailureKind.EMPTY else Outcome.FAILED


def score_cells(
    planned: Planned, replies: Iterable[StoredReply], verdicts: Mapping[str, Verdict]
) -> tuple[ScoredCell, ...]:
    """Score every cell, in plan order. `verdicts` are one judge's, by reply key.

    Cells that share a reply (the same request in two places) are measured once.
    """
    features: dict[str, Features] = {}

    def measured(key: str, text: str) -> Features:
        if key not in features:
            features[key] = measure_features(text)
        return features[key]

    def scored(stored: StoredReply) -> ScoredCell:
        stimulus = planned.stimulus(stored.cell)
        outcome = outcome_of(stored.reply)
        text = stored.reply.text if stored.reply else ""
        answered = outcome is Outcome.ANSWERED
        return ScoredCell(
            cell=stored.cell,
            key=stored.key,
            kind=stimulus.kind,
            category=stimulus.category,
            outcome=outcome,
            text=text,
            features=measured(stored.key, text) if answered else None,
            compliance=_comply(stimulus, text) if answered else None,
            verdict=verdicts.get(stored.key) if answered else None,
        )

    return tuple(scored(stored) for stored in replies)


def _comply(stimulus: Stimulus, text: str) -> Compliance | None:
    if stimulus.kind is StimulusKind.NEGATIVE_CONTROL:
        return check_answer(stimulus.answers, text) if stimulus.answers else None
    return check_compliance(stimulus.check, text) if stimulus.check else None


class Slice(msgspec.Struct, frozen=True):
    """What a mean or a contrast is taken over: one target's arm on one battery."""

    target: str
    arm: Arm
    battery: str


def by_slice(cells: Iterable[ScoredCell]) -> dict[Slice, list[ScoredCell]]:
    """Cells grouped by target, arm and battery, in plan order."""
    groups: dict[Slice, list[ScoredCell]] = {}
    for scored in cells:
        cell = scored.cell
        groups.setdefault(Slice(cell.target, cell.arm, cell.battery), []).append(scored)
    return groups
