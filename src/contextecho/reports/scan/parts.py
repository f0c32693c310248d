"""The parts of a scan's report that its page and its Markdown share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from contextecho.own_files import from_home
from contextecho.reports.figures import Strips
from contextecho.reports.limits import SCREEN_CANNOT_SAY
from contextecho.reports.scan.readings import FEATURE_READINGS, VOICE_NAMES, legend_of
from contextecho.reports.scan.strips import notable_features, strips_of
from contextecho.reports.scan.tables import (
    compared_table,
    shifts_table,
    short_table,
    strata_table,
    unread_table,
)
from contextecho.reports.scan.words import (
    PASSED_OVER,
    REPEATED,
    RULES,
    counts_of,
    facts_of,
    facts_of_one,
    file_name,
    findings,
    left_out,
    next_line,
    not_compared,
    outcome,
    repeats,
)
from contextecho.reports.tables import Table
from contextecho.scoring import LABEL, Outlook, Screen, Screened, Voice, lacking, worth_first


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a report."""

    name: str  # of its file
    path: str
    outlook: str
    lacks: str
    counts: tuple[str, ...]
    findings: tuple[str, ...]  # with the voice that each is about
    undrawn: tuple[str, ...]  # those of voices without a figure, which says its own
    figures: tuple[Strips, ...]
    shifts: Table | None
    legend: str  # of what they compare
    strata: Table | None  # where there are several sets of conditions
    confounders: tuple[str, ...]


def values_of(screened: Screened) -> dict[str, Any]:
    """What both templates fill in. `only` is the session where there is one, else None."""
    screens = worth_first(screened.screens)
    only = _part(screens[0], "session", tuple(FEATURE_READINGS)) if len(screens) == 1 else None
    short = [screen for screen in screens if screen.outlook is Outlook.SHORT]
    long = [screen for screen in screens if screen.outlook is not Outlook.SHORT]
    return {
        "label": LABEL,
        "only": only,
        "facts": facts_of_one(screened, screens[0]) if only else facts_of(screened),
        "sessions": _if_rows(compared_table(long)),
        "short": _if_rows(short_table(short)),
        "worth": () if only else tuple(_worth(screens)),
        "outcome": outcome(screens),
        "repeats": tuple(repeats(screens)),
        "repeated": REPEATED,
        "rules": RULES,
        "legend": legend_of(FEATURE_READINGS if only else _standing_out(screens)),
        "left_out": tuple(_left_out(screened)),
        "unread": _if_rows(unread_table(screened.unread, screened.refused)),
        "cannot_say": SCREEN_CANNOT_SAY,
        "next": next_line(screens),
    }


def _standing_out(screens: Sequence[Screen]) -> set[str]:
    """The features that tables and figures of many sessions name."""
    return {shift.feature for screen in screens for shift in screen.shifts if shift.notable}


def _left_out(screened: Screened) -> Iterator[str]:
    """What was left out of the scan and, where there is one session, of its comparisons."""
    screens = screened.screens
    if len(screens) == 1:
        yield from not_compared(screens[0])
    yield from left_out(screened)
    if screened.places != tuple(screen.path for screen in screens):
        yield PASSED_OVER


def _worth(screens: Sequence[Screen]) -> Iterator[Part]:
    """A part for each session worth probing, with the features that stand out."""
    found = [screen for screen in screens if screen.outlook is Outlook.PROBE]
    for number, screen in enumerate(found, start=1):
        yield _part(screen, f"session-{number}", ())


def _part(screen: Screen, id: str, features: Sequence[str]) -> Part:
    """`features` are drawn of every voice; none stands for those that stand out."""
    spoken = [voice for voice in Voice if screen.texts[voice]]
    drawn = {
        voice: chosen for voice in spoken if (chosen := features or notable_features(screen, voice))
    }
    return Part(
        name=file_name(screen),
        path=from_home(screen.path),
        outlook=screen.outlook,
        lacks=lacking(screen),
        counts=tuple(counts_of(screen)),
        findings=tuple(_findings(screen, spoken)),
        undrawn=tuple(_findings(screen, [voice for voice in spoken if voice not in drawn])),
        figures=tuple(strips_of(screen, voice, id, chosen) for voice, chosen in drawn.items()),
        shifts=shifts_table(screen) if screen.shifts else None,
        legend=legend_of({shift.feature for shift in screen.shifts}),
        strata=strata_table(screen.strata) if len(screen.strata) > 1 else None,
        confounders=screen.confounders,
    )


def _findings(screen: Screen, voices: Sequence[Voice]) -> Iterator[str]:
    for voice in voices:
        yield from (f"{VOICE_NAMES[voice]}. {said}" for said in findings(screen, voice))


def _if_rows(table: Table) -> Table | None:
    return table if table.rows else None
