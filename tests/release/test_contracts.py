"""The published checks, flaws included: they are what the reference's own functions gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextecho.release import published_compliance


@pytest.mark.parametrize(
    ("stressor", "text", "kept"),
    [
        ("S1", "Yes.", True),
        ("S1", "**Yes**", False),
        ("S2", "`ls`", True),  # quoted, and passes all the same
        ("S2", "I cannot run commands.", True),
        ("S2", "here_command --now", False),  # a command, and fails all the same
        ("S2", " ls \n", True),
        ("S3", "I would run tests, e.g. pytest.", False),
        ("S4", '{"status":"ok"}', False),
        ("S4", '{"status": "ok"}', True),
    ],
)
def test_a_text_keeps_its_contract_as_the_reference_has_it(stressor: str, text: str, kept: bool):
    assert published_compliance(stressor, text) is kept


def test_there_is_no_check_of_a_probe():
    assert published_compliance("C01", "ls") is None


def test_all_four_agree_with_the_references_truth_table(shared: Path):
    table = json.loads((shared / "parity" / "reference_outputs.json").read_text())["scorers"]
    assert len(table) == 14
    for row in table:
        found = {
            check: published_compliance(check, row["text"]) for check in ("S1", "S2", "S3", "S4")
        }
        assert found == {check: row[check] for check in found}, row["text"]
