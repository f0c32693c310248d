"""Which sessions suit what, and that the thresholds are those of what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextecho.contexts import FEWEST_POSITIONS, choose_positions
from contextecho.scoring import Outlook, screen_session, suitability_of
from contextecho.scoring.shifts import SMALLEST_THIRD
from contextecho.scoring.suitability import COMPACTIONS, SCREEN_TEXTS, TRAJECTORY_STEPS
from contextecho.sessions import Summary, read_session
from contextecho.sessions.finding.summarising import summarise
from sessions.claude_code_lines import assistant, record, user, write


def talk(answers: int, compactions: int = 0) -> Iterator[dict[str, object]]:
    for number in range(answers):
        if number and number <= compactions:
            yield record("system", subtype="compact_boundary", compactMetadata={})
            yield user(f"Summary {number}", isCompactSummary=True)
        yield user("Go on.")
        yield assistant(f"Done, that is number {number}.")


Suits = Callable[..., tuple[str, ...]]


@pytest.fixture
def suits(tmp_path: Path) -> Suits:
    def of(answers: int, compactions: int = 0) -> tuple[str, ...]:
        path = write(tmp_path, list(talk(answers, compactions)))
        (summary,) = summarise(path).sessions
        return suitability_of(summary).suits

    return of


def test_scan_needs_what_the_screen_needs(tmp_path: Path, suits: Suits) -> None:
    assert SCREEN_TEXTS == 3 * SMALLEST_THIRD
    for answers in (SCREEN_TEXTS - 1, SCREEN_TEXTS):
        told = "scan" in suits(answers)
        screen = screen_session(read_session(tmp_path / "session.jsonl"))
        assert told == (screen.outlook is not Outlook.SHORT)


def test_trajectory_needs_a_step_for_each_position(tmp_path: Path, suits: Suits) -> None:
    assert "trajectory" in suits(TRAJECTORY_STEPS)
    session = read_session(tmp_path / "session.jsonl")
    positions = choose_positions(session, f"even:{TRAJECTORY_STEPS}").positions
    assert len({position.step for position in positions}) == TRAJECTORY_STEPS
    assert "trajectory" not in suits(TRAJECTORY_STEPS - 1)


def test_compactions_needs_enough_of_them_for_positions_to_say_something(
    tmp_path: Path, suits: Suits
) -> None:
    for compactions in (COMPACTIONS - 1, COMPACTIONS):
        told = "compactions" in suits(40, compactions)
        session = read_session(tmp_path / "session.jsonl")
        assert len(session.full_compactions) == compactions
        # Paddings are made short enough for the segments, so that no position is lost.
        positions = choose_positions(session, "compactions", padding=1).positions
        assert told == (len(positions) >= FEWEST_POSITIONS)


def test_what_is_lacking_is_said() -> None:
    short = Summary("chat", steps=11, final_texts=3, commentary_texts=0, compactions=0)
    assert suitability_of(short).lacks == {
        "scan": "needs 24 texts of one voice under equal conditions, has 3",
        "trajectory": "needs 12 steps, has 11",
        "compactions": "needs 2 compactions, has 0",
    }


def test_what_cannot_be_read_suits_nothing_and_lacks_nothing() -> None:
    found = suitability_of(Summary("chat", error="is empty"))
    assert (found.suits, found.lacks) == ((), {})
