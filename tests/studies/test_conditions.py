"""Positions bear the conditions under which the model last spoke."""

from __future__ import annotations

from pathlib import Path

from contextecho.contexts import find_positions
from contextecho.sessions import read_session
from contextecho.studies.conditions import condition_notes, under_conditions


def test_an_update_of_the_client_between_positions_is_noted(shared: Path) -> None:
    """The client of this file is updated between its steps 34 and 35 (jq .version, by message)."""
    session = read_session(shared / "sessions/claude-code/entire-995ebed6e4-2-glued-line.jsonl")
    found = find_positions(session, "line:2,step:10,step:34,step:35")
    positions = under_conditions(session, found)
    versions = [p.conditions and p.conditions.version for p in positions]
    assert versions == [None, "2.1.7", "2.1.7", "2.1.12"]
    (note,) = condition_notes(positions)
    assert "version 2.1.7 at P01_step10, P02_step34; version 2.1.12 at P03_step35" in note
    assert list(condition_notes(positions[:3])) == []
