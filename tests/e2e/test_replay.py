"""A recorded run answers again, without its model."""

from __future__ import annotations

import sqlite3

from contextecho.sessions import example_session
from e2e.terminal import Terminal

PROBE = (
    "probe",
    str(example_session()),
    "--target=simulated/gap=0.5,seed=2",
    "--judge=simulated/judge",
    "--positions=even:3",
    "--n=1",
    "--battery=coding-self",
    "-q",
)


def test_a_replay_says_what_the_recording_said(terminal: Terminal) -> None:
    first = terminal.run(*PROBE, "--store=recorded")
    again = terminal.run(*PROBE, "--store=copy", "--replay=recorded")
    assert (first.code, again.code) == (0, 0)
    assert again.out == first.out


def test_what_was_not_recorded_is_missing_not_made_up(terminal: Terminal) -> None:
    terminal.run(*PROBE, "--store=recorded")
    more = terminal.run(*PROBE, "--store=copy", "--replay=recorded", "--n=2")
    assert more.code == 4
    assert "100 of 200 requests answered, 100 failed" in more.err
    with sqlite3.connect(terminal.folder / "copy" / "store.sqlite") as db:
        (kept,) = db.execute("SELECT count(*) FROM reply").fetchone()
    assert kept > 0


def test_a_recording_that_is_not_there_is_one_line(terminal: Terminal) -> None:
    none = terminal.run(*PROBE, "--replay=nowhere")
    assert none.code == 2
    assert "nowhere: there is no store here" in none.err
