"""What the scores of a run say: arm means, contrasts, denominators, guards.

Everything here is numbers with their n; nothing is formatted. A number that
could not be computed is None and its `note` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from contextecho.contexts import Arm
from contextecho.scoring.registration import Registration
from contextecho.stats import Agreement, Interval
from contextecho.store import RunInfo

OVERALL = "overall"  # the scope of a contrast over the whole run


class Measure(StrEnum):
    """What is contrasted."""

    REGISTER = "register"  # judge, 0 (drifted) .. 3 (fully assistant)
    COMPLIANCE = "compliance"  # share of replies that keep the contract, 0..1; of negative
    # controls: that hold the right answer
    LENGTH = "length"  # log10 of the reply's characters; contrasts are reported as ratios
    FINGERPRINT = "fingerprint"  # PC1 of the six features, pooled over arms


class Denominator(msgspec.Struct, frozen=True, kw_only=True):
    """The places in the plan that one arm of a target has, and what became of their replies.

    A scratch reply, which no position changes, stands at every position and is
    counted at each.
    """

    target: str
    arm: Arm
    battery: str
    planned: int
    answered: int
    refused: int
    truncated: int
    empty: int
    failed: int
    missing: int  # planned and not collected
    judged: int  # answers with a valid register verdict
    unjudged: int  # answers whose verdict could not be read


class ArmMean(msgspec.Struct, frozen=True, kw_only=True):
    """Mean of a measure in one arm, at one position or (position None) over all.

    `n` and `planned` count distinct replies: a scratch reply, which stands at
    every position, once.
    """

    target: str
    arm: Arm
    position: str | None
    measure: Measure
    battery: str
    mean: float | None
    interval: Interval | None
    n: int  # replies that entered
    planned: int


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between arms on paired cells: Definition 1 and its kin.

    `minus_from` minus `minus`; of lengths, `minus_from` over `minus`, a ratio of
    geometric means, whose interval is a ratio's too (`p` is of the log ratio).
    `scope` is "overall", "category:NAME", "conditions:WORDS" or "position:LABEL"; `family` names
    the Holm family, `p_holm` is adjusted within it.
    """

    id: str  # ContrastSpec.id
    target: str
    battery: str
    measure: Measure
    scope: str
    minus_from: Arm
    minus: Arm
    estimate: float | None
    interval: Interval | None  # the default, small-cluster correct
    percentile: Interval | None  # the paper's kind, for comparison
    p: float | None  # paired sign-flip permutation
    p_holm: float | None
    family: str | None
    pairs: int
    planned_pairs: int
    clusters: int
    units: int  # what interval and p take as independent: clusters or, within one, its stimuli
    note: str | None = None  # why there is no number, or what to beware of


class GapChange(msgspec.Struct, frozen=True, kw_only=True):
    """How much a contrast changes from one place to another: after minus before.

    Of lengths a ratio of ratios. `before` and `after` are positions of a run, or levels.
    """

    id: str  # ContrastSpec.id
    target: str
    battery: str
    measure: Measure
    minus_from: Arm
    minus: Arm
    before: str
    after: str
    pairs: int  # questions answered in both arms, before and after
    planned_pairs: int
    clusters: int
    estimate: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_holm: float | None = None
    units: int = 0  # what interval and p take as independent
    note: str | None = None


class SessionSpread(msgspec.Struct, frozen=True, kw_only=True):
    """The variance of paired differences (lengths: of log10 ratios) over sessions, by REML."""

    target: str
    battery: str
    measure: Measure
    level: str | None
    conditional: bool  # only pairs that keep the contract in both arms
    between: float | None  # variance between sessions
    within: float | None  # variance within a session
    sessions: int
    pairs: int
    note: str | None = None  # why there are no components

    @property
    def share(self) -> float | None:
        """The part of the variance that lies between sessions."""
        if self.between is None or self.within is None:
            return None
        return self.between / (self.between + self.within)


class FingerprintPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One reply in the plane of the first two principal components."""

    target: str
    arm: Arm
    position: str
    stimulus: str
    reply_key: str
    pc1: float
    pc2: float
    judge: float | None  # held out of the components; colours the point


class FingerprintMap(msgspec.Struct, frozen=True, kw_only=True):
    """The six-feature map of one target, with its loadings and how far the arms part."""

    target: str
    points: tuple[FingerprintPoint, ...]
    explained: tuple[float, float]  # variance shares of PC1 and PC2
    loadings: Mapping[str, tuple[float, float]]
    auc: float | None  # control versus session on PC1
    auc_interval: Interval | None
    auc_by_chance: float | None = None  # what arms that do not differ would show on average
    auc_note: str | None = None  # why there is no AUC or interval, and what to beware of
    auc_judge: float | None  # PC1 versus judge label (<= 1 drifted, >= 2 assistant)
    n: int
    dropped: int  # replies without text


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """The negative controls: if they move, the headline is withheld."""

    target: str
    measure: Measure
    moved: bool | None  # None: not collected or too few to tell
    contrast: Contrast | None
    note: str


class ShownReply(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of an example, with what the judge said of it."""

    text: str
    outcome: str
    register: float | None
    reason: str | None


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """Replies to one question at one position, side by side."""

    target: str
    position: str
    stimulus: str
    question: str
    replies: Mapping[str, ShownReply]  # by arm


class JudgeMirror(msgspec.Struct, frozen=True, kw_only=True):
    """How far the judge can be trusted on this run."""

    judge: str
    rubric_sha256: str | None  # None: verdicts of a release that did not keep it
    served: tuple[str, ...]  # names that came with the judge's answers
    judged: int
    invalid: int
    repeats: int  # replies judged twice
    self_exact: float | None
    self_within_one: float | None
    note: str


class JudgeAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How alike two judges read the replies to one battery that both have read.

    Plain facts score 3 from any judge, so their battery is not mixed with others.
    """

    battery: str
    judges: tuple[str, str]
    versions: tuple[str, str]  # of their verdicts: rubric, judge and decoding
    scores: Agreement


class Billing(msgspec.Struct, frozen=True, kw_only=True):
    """What a target's own account says: which models answered, how long the arms were."""

    target: str
    served: tuple[str, ...]  # names that came with the replies, in order of appearance
    control_ratio: Mapping[str, float]  # position -> billed control tokens / session tokens


class RunAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report shows about one run."""

    run: RunInfo
    registration: Registration
    denominators: tuple[Denominator, ...]
    arm_means: tuple[ArmMean, ...]
    contrasts: tuple[Contrast, ...]
    fingerprints: tuple[FingerprintMap, ...]
    guards: tuple[Guard, ...]
    examples: tuple[Example, ...]
    judge: JudgeMirror | None
    agreements: tuple[JudgeAgreement, ...]  # each pair of judges that read this run
    billing: tuple[Billing, ...]
    crossings: tuple[GapChange, ...] = ()  # of the first contrast, across compactions
    headline_withheld: tuple[str, ...]  # one sentence a target whose headline may not be shown
    notes: tuple[str, ...]
