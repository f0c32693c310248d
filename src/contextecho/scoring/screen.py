"""The passive screen: how a session's own voice changes, without asking any model.

The one thing to know: this is a screen, never a diagnosis. Within a session the task,
the language, the model and the client change too, and all of them change the voice;
only a probe with a matched control can tell. So a screen says at most that a session
is worth probing, and lists what else changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, pairwise
from math import ceil
from statistics import fmean

import msgspec

from contextecho.scoring.confounders import confounders_of
from contextecho.scoring.features import FEATURE_NAMES, Features
from contextecho.scoring.shifts import Change, Shift, Stratum, changes_of, shifts_of, strata_of
from contextecho.scoring.voices import Utterance, Voice, utterances_of
from contextecho.sessions import CompactionKind, Session

LABEL = "a screen, never a diagnosis"
WINDOWS = 12  # about as many as the paper has positions
SMALLEST_WINDOW = 8  # texts


class Outlook(StrEnum):
    """What a screen may conclude."""

    PROBE = "worth probing"
    QUIET = "nothing stands out"
    SHORT = "too short to tell"


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


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has of an earlier one that was scanned with it."""

    session: str  # its path, as in `Screen`
    prompts: int


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
    strata: tuple[Stratum, ...]  # texts are compared within one
    changes: tuple[Change, ...]  # from one stratum to another
    confounders: tuple[str, ...]
    outlook: Outlook
    is_cut: bool  # the file ends in the middle
    inherited_prompts: int  # of the prompts: those that count for another session
    repeats: tuple[Repeat, ...] = ()  # whose they are, where that one was scanned too


def screen_session(session: Session) -> Screen:
    """Screen one session. Reads its text once; nothing leaves the machine."""
    utterances = tuple(utterances_of(session))
    shifts = tuple(shifts_of(utterances))
    if not shifts:
        outlook = Outlook.SHORT
    else:
        outlook = Outlook.PROBE if any(s.notable for s in shifts) else Outlook.QUIET
    return Screen(
        label=LABEL,
        path=session.name,
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
        strata=tuple(strata_of(utterances)),
        changes=tuple(changes_of(utterances)),
        confounders=tuple(confounders_of(session, utterances)),
        outlook=outlook,
        is_cut=session.is_cut,
        inherited_prompts=session.inherited_prompts,
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
