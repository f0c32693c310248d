"""The passive screen: how a session's own voice changes, without asking any model.

The one thing to know: this is a screen, never a diagnosis. Within a session the task,
the language, the model and the client change too, and all of them change the voice;
only a probe with a matched control can tell. So a screen says at most that a session
is worth probing, and lists what else changed.

The unit is a joined assistant message of the main thread with visible text of the
model's own (formats, section 9). Final answers and commentary between tool calls are
two voices and never mixed: early answers against late commentary would look like drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, pairwise
from math import ceil
from statistics import fmean

import msgspec

from contextecho.scoring.confounders import confounders_of
from contextecho.scoring.features import FEATURE_NAMES, Features, measure_features
from contextecho.sessions import CompactionKind, Kind, Session, Speaker, Turn

LABEL = "a screen, never a diagnosis"
WINDOWS = 12  # about as many as the paper has positions
SMALLEST_WINDOW = 8  # texts
SMALLEST_THIRD = 8  # texts a voice needs at each end to be compared
# Below this an end-to-end change is too small to be worth a probe: two texts, one from
# each end, would be told apart little better than by a coin (Cohen's d of about 0.5).
NOTABLE_AUC = 0.64
# After adjustment: of sessions in which nothing changes, one in twenty stands out at most,
# as far as texts are independent; neighbouring ones are not, so it is somewhat more.
SIGNIFICANCE = 0.05


class Voice(StrEnum):
    """Where in a turn the model speaks."""

    FINAL = "final"  # the message calls no tool: what the user is told at the end
    COMMENTARY = "commentary"  # a remark beside a tool call


class Outlook(StrEnum):
    """What a screen may conclude."""

    PROBE = "worth probing"
    QUIET = "nothing stands out"
    SHORT = "too short to tell"


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the model with its features."""

    voice: Voice
    turn: Turn  # its first text
    text: str
    features: Features


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One voice in one window; `means` are of the features, None without texts."""

    texts: int
    characters: int
    means: Features | None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive messages between two compactions."""

    segment: int  # compactions before it
    first_step: int
    last_step: int
    first_row_turn: int
    last_row_turn: int
    voices: Mapping[Voice, Sample]


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """How a feature of one voice differs between the first and the last third of its texts."""

    voice: Voice
    feature: str
    early: float
    late: float
    auc: float  # chance that a late text has more of it than an early one; ties count half
    p: float  # Mann-Whitney, two-sided, Bonferroni-adjusted for the number of shifts
    n_early: int
    n_late: int
    notable: bool


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """What can be seen in a session file alone."""

    label: str
    path: str
    session: str
    format: str
    prompts: int
    steps: int
    row_turns: int
    compactions: int
    microcompactions: int
    models: tuple[str, ...]
    versions: tuple[str, ...]
    texts: Mapping[Voice, int]
    windows: tuple[Window, ...]
    shifts: tuple[Shift, ...]
    confounders: tuple[str, ...]
    outlook: Outlook


def screen_session(session: Session) -> Screen:
    """Screen one session. Reads its text once; nothing leaves the machine."""
    utterances = tuple(_utterances(session))
    shifts = tuple(_shifts(utterances))
    if not shifts:
        outlook = Outlook.SHORT
    else:
        outlook = Outlook.PROBE if any(s.notable for s in shifts) else Outlook.QUIET
    return Screen(
        label=LABEL,
        path=str(session.path),
        session=session.id,
        format=session.format,
        prompts=session.prompts,
        steps=session.steps,
        row_turns=session.row_turns,
        compactions=len(session.full_compactions),
        microcompactions=sum(c.kind is CompactionKind.MICRO for c in session.compactions),
        models=session.models,
        versions=session.versions,
        texts={voice: sum(u.voice is voice for u in utterances) for voice in Voice},
        windows=tuple(_windows(utterances)),
        shifts=shifts,
        confounders=tuple(confounders_of(session, [(u.turn, u.text) for u in utterances])),
        outlook=outlook,
    )


def _utterances(session: Session) -> Iterator[Utterance]:
    """The model's own messages, in order."""
    spoken = [
        turn
        for turn in session.turns
        if turn.kind is Kind.ASSISTANT and turn.speaker is Speaker.MODEL and not turn.abandoned
    ]
    pieces = zip(spoken, session.contents(spoken), strict=True)
    for _, group in groupby(pieces, key=lambda piece: piece[0].message):
        turns, contents = zip(*group, strict=True)
        text = "\n\n".join(content.text for content in contents).strip()
        if text:
            yield Utterance(
                voice=Voice.FINAL if turns[-1].final else Voice.COMMENTARY,
                turn=turns[0],
                text=text,
                features=measure_features(text),
            )


def _windows(utterances: Sequence[Utterance]) -> Iterator[Window]:
    """Equal windows that never reach over a compaction."""
    size = max(SMALLEST_WINDOW, ceil(len(utterances) / WINDOWS))
    for segment, group in groupby(utterances, key=lambda u: u.turn.segment):
        members = list(group)
        count = max(1, round(len(members) / size))
        cuts = [round(i * len(members) / count) for i in range(count + 1)]
        for start, end in pairwise(cuts):
            turns = [u.turn for u in members[start:end]]
            yield Window(
                segment=segment,
                first_step=turns[0].step,
                last_step=turns[-1].step,
                first_row_turn=turns[0].row_turn,
                last_row_turn=turns[-1].row_turn,
                voices={
                    voice: _sample([u for u in members[start:end] if u.voice is voice])
                    for voice in Voice
                },
            )


def _sample(utterances: Sequence[Utterance]) -> Sample:
    return Sample(
        texts=len(utterances),
        characters=sum(len(u.text) for u in utterances),
        means=Features(**_means(utterances)) if utterances else None,
    )


def _means(utterances: Sequence[Utterance]) -> dict[str, float]:
    return {name: fmean(getattr(u.features, name) for u in utterances) for name in FEATURE_NAMES}


def _shifts(utterances: Sequence[Utterance]) -> Iterator[Shift]:
    """Every feature of every voice that has enough texts at both ends."""
    ends = {}
    for voice in Voice:
        spoken = [u for u in utterances if u.voice is voice]
        third = len(spoken) // 3
        if third >= SMALLEST_THIRD:
            ends[voice] = spoken[:third], spoken[-third:]
    for voice, (early, late) in ends.items():
        for feature in FEATURE_NAMES:
            yield _shift(voice, feature, early, late, tests=len(ends) * len(FEATURE_NAMES))


def _shift(
    voice: Voice,
    feature: str,
    early: Sequence[Utterance],
    late: Sequence[Utterance],
    *,
    tests: int,
) -> Shift:
    before, after = ([getattr(u.features, feature) for u in part] for part in (early, late))
    if len({*before, *after}) == 1:  # a rank test of one value has no spread
        auc, p = 0.5, 1.0
    else:
        from scipy.stats import mannwhitneyu  # takes a second to load; short sessions need none

        found = mannwhitneyu(after, before, alternative="two-sided")
        auc, p = found.statistic / (len(before) * len(after)), min(1.0, found.pvalue * tests)
    return Shift(
        voice=voice,
        feature=feature,
        early=fmean(before),
        late=fmean(after),
        auc=float(auc),
        p=float(p),
        n_early=len(before),
        n_late=len(after),
        notable=bool(p < SIGNIFICANCE and max(auc, 1.0 - auc) >= NOTABLE_AUC),
    )
