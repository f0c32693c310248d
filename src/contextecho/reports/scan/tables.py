"""The tables of a scan's report, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from contextecho.errors import SessionError
from contextecho.own_files import from_home
from contextecho.reports.scan.readings import FEATURE_READINGS, VOICE_NAMES, written
from contextecho.reports.tables import Column, Table
from contextecho.reports.typeset import Quantity, number, p_value, whole
from contextecho.scoring import (
    SCREEN_TEXTS,
    Screen,
    Shift,
    Stratum,
    Voice,
    heads_standing_out,
    most_texts,
    worth_first,
)
from contextecho.sessions import tell_apart


def compared_table(screens: Sequence[Screen]) -> Table:
    """One row a session, with the columns of the terminal, those worth probing first."""
    return Table(
        caption="Sessions compared, those worth probing first, then by length",
        columns=(Column("session", "path"), Column("screen"), Column("stands out"), *_COLUMNS),
        rows=tuple(
            (
                from_home(screen.path),
                screen.outlook.value,
                ", ".join(heads_standing_out(screen)) or "–",
                *_cells(screen),
            )
            for screen in worth_first(screens)
        ),
    )


def short_table(screens: Sequence[Screen]) -> Table:
    """One row a session that is too short to tell, with what there is of what it needs."""
    return Table(
        caption="Sessions too short to tell, by length. A comparison needs "
        f"{SCREEN_TEXTS} texts of one voice under equal conditions",
        columns=(Column("session", "path"), Column("such texts", "n"), *_COLUMNS),
        rows=tuple(
            (from_home(screen.path), whole(most_texts(screen)), *_cells(screen))
            for screen in worth_first(screens)
        ),
    )


_COLUMNS = (
    Column("prompts", "n"),
    Column("steps", "n"),
    Column("compactions", "n"),
    Column("format"),
    Column("models", "words"),
)


def _cells(screen: Screen) -> tuple[str, ...]:
    return (
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
