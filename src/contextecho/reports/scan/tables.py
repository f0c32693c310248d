"""The tables of a scan's report, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from contextecho.errors import SessionError
from contextecho.own_files import from_home
from contextecho.reports.scan.readings import FEATURE_READINGS, VOICE_NAMES, written
from contextecho.reports.scan.words import short_sessions
from contextecho.reports.tables import Column, Table
from contextecho.reports.typeset import Quantity, number, p_value, whole
from contextecho.scoring import (
    Screen,
    Shift,
    Stratum,
    Voice,
    heads_standing_out,
    worth_first,
)
from contextecho.sessions import tell_apart


def sessions_table(screens: Sequence[Screen]) -> Table:
    """One row a session, with the columns of the terminal, those worth probing first."""
    return Table(
        caption="Sessions, those worth probing first, then by length",
        columns=(
            Column("session", "path"),
            Column("screen"),
            Column("stands out"),
            Column("prompts", "n"),
            Column("steps", "n"),
            Column("compactions", "n"),
            Column("format"),
            Column("models", "words"),
        ),
        rows=tuple(_session_cells(screen) for screen in worth_first(screens)),
    )


def _session_cells(screen: Screen) -> tuple[str, ...]:
    return (
        from_home(screen.path),
        screen.outlook.value,
        ", ".join(heads_standing_out(screen)) or "–",
        whole(screen.prompts),
        whole(screen.steps),
        whole(screen.compactions),
        screen.format,
        ", ".join(screen.models) or "not recorded",
    )


def shifts_table(screen: Screen) -> Table:
    """Every comparison of the first third of a voice's texts with the last."""
    return Table(
        caption=f"The first third of each voice's texts against the last "
        f"({whole(len(screen.shifts))} comparisons; p is adjusted for their number)",
        columns=(
            Column("voice, feature"),
            Column("unit"),
            Column("first third", "n"),
            Column("n", "n"),
            Column("last third", "n"),
            Column("n", "n"),
            Column("AUC", "n"),
            Column("p, adjusted", "n"),
            Column("sets of conditions", "n"),
            Column("stands out"),
        ),
        rows=tuple(_shift_cells(shift) for shift in _in_order(screen.shifts)),
    )


def _in_order(shifts: Sequence[Shift]) -> list[Shift]:
    """By voice, then in the order of the columns."""
    voices, features = list(Voice), list(FEATURE_READINGS)
    return sorted(shifts, key=lambda s: (voices.index(s.voice), features.index(s.feature)))


def _shift_cells(shift: Shift) -> tuple[str, ...]:
    reading = FEATURE_READINGS[shift.feature]
    return (
        f"{shift.voice}, {reading.name}",
        reading.unit,
        written(shift.feature, shift.early),
        whole(shift.n_early),
        written(shift.feature, shift.late),
        whole(shift.n_late),
        number(shift.auc, Quantity.CHANCE),
        p_value(shift.p),
        whole(shift.strata),
        "yes" if shift.notable else "–",
    )


def strata_table(strata: Sequence[Stratum]) -> Table:
    """The sets of conditions, with the texts said under each."""
    words = tell_apart(stratum.conditions for stratum in strata)
    return Table(
        caption="Sets of equal conditions, in order of first use: texts under each, and whether "
        "they are enough for two thirds",
        columns=(
            Column("conditions", "path"),
            *(Column(VOICE_NAMES[voice].lower(), "n") for voice in Voice),
            Column("compared"),
        ),
        rows=tuple(
            (
                words[stratum.conditions],
                *(whole(stratum.texts[voice]) for voice in Voice),
                ", ".join(stratum.compared) or "no, too few",
            )
            for stratum in strata
        ),
    )


def unread_table(unread: Sequence[SessionError], refused: Sequence[SessionError]) -> Table:
    """What could not be read, and why."""
    return Table(
        caption="What could not be read",
        columns=(Column("file or folder", "path"), Column("why", "words")),
        rows=tuple((from_home(error.where), error.what) for error in (*unread, *refused)),
    )


def short_table(screens: Sequence[Screen]) -> Table:
    """The sessions that are too short to tell, with what they lack."""
    return Table(
        caption="Sessions that are too short to tell",
        columns=(Column("session", "path"), Column("what it lacks", "words")),
        rows=tuple(short_sessions(screens)),
    )
