"""How the voice at the end of a session differs from the one at its beginning.

The one thing to know: texts are only compared under equal conditions (model, client
version, declared mode and personality, language of the prompts). Each stratum gives its
own first and last third, and the strata are taken together; a stratum too small for
thirds is left out, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import msgspec

from contextecho.scoring.features import FEATURE_NAMES
from contextecho.scoring.voices import Utterance, Voice
from contextecho.sessions import Conditions
from contextecho.stats import stratified_rank_shift

SMALLEST_THIRD = 8  # texts a voice needs at each end to be compared
# Below this an end-to-end change is too small to be worth a probe: two texts, one from
# each end, would be told apart little better than by a coin (Cohen's d of about 0.5).
NOTABLE_AUC = 0.64
# After adjustment: of sessions in which nothing changes, one in twenty stands out at most,
# as far as texts are independent; neighbouring ones are not, so it is somewhat more.
SIGNIFICANCE = 0.05


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """How a feature of one voice differs between the first and the last third of its texts."""

    voice: Voice
    feature: str
    early: float
    late: float
    auc: float  # chance that a late text has more of it than an early one; ties count half
    p: float  # van Elteren, two-sided, Bonferroni-adjusted for the number of shifts
    n_early: int
    n_late: int
    strata: int  # sets of equal conditions that entered, each with its own thirds
    notable: bool


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """The texts said under one set of conditions."""

    conditions: Conditions
    texts: Mapping[Voice, int]
    compared: tuple[Voice, ...]  # voices with texts enough


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """From one text to the next, of either voice, the conditions are no longer equal."""

    step: int  # of the first text under the new ones
    before: Conditions
    after: Conditions


_Ends = tuple[Sequence[Utterance], Sequence[Utterance]]


def strata_of(utterances: Sequence[Utterance]) -> Iterator[Stratum]:
    """The sets of conditions under which the model spoke, in order of first use."""
    for conditions in dict.fromkeys(u.circumstances.conditions for u in utterances):
        here = [u for u in utterances if u.circumstances.conditions == conditions]
        texts = {voice: sum(u.voice is voice for u in here) for voice in Voice}
        compared = tuple(v for v, count in texts.items() if count // 3 >= SMALLEST_THIRD)
        yield Stratum(conditions=conditions, texts=texts, compared=compared)


def changes_of(utterances: Sequence[Utterance]) -> Iterator[Change]:
    """Where the conditions change, in order."""
    for one, other in pairwise(utterances):
        before, after = one.circumstances.conditions, other.circumstances.conditions
        if before != after:
            yield Change(step=other.turn.step, before=before, after=after)


def shifts_of(utterances: Sequence[Utterance]) -> Iterator[Shift]:
    """Every feature of every voice that has enough texts at both ends of a stratum."""
    ends = {voice: found for voice in Voice if (found := list(_ends(utterances, voice)))}
    for voice, strata in ends.items():
        for feature in FEATURE_NAMES:
            yield _shift(voice, feature, strata, tests=len(ends) * len(FEATURE_NAMES))


def _ends(utterances: Sequence[Utterance], voice: Voice) -> Iterator[_Ends]:
    """The first and the last third of each stratum that has enough texts in this voice."""
    groups: dict[Conditions, list[Utterance]] = {}
    for utterance in utterances:
        if utterance.voice is voice:
            groups.setdefault(utterance.circumstances.conditions, []).append(utterance)
    for group in groups.values():
        third = len(group) // 3
        if third >= SMALLEST_THIRD:
            yield group[:third], group[-third:]


def _shift(voice: Voice, feature: str, strata: Sequence[_Ends], *, tests: int) -> Shift:
    scores = [
        tuple([float(getattr(u.features, feature)) for u in end] for end in ends) for ends in strata
    ]
    found = stratified_rank_shift([(early, late) for early, late in scores])
    before = [score for early, _ in scores for score in early]
    after = [score for _, late in scores for score in late]
    p = min(1.0, found.p * tests)
    return Shift(
        voice=voice,
        feature=feature,
        early=fmean(before),
        late=fmean(after),
        auc=found.auc,
        p=p,
        n_early=len(before),
        n_late=len(after),
        strata=len(strata),
        notable=p < SIGNIFICANCE and max(found.auc, 1.0 - found.auc) >= NOTABLE_AUC,
    )
