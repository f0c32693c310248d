"""Compliance against replies decided by hand, and against the reference's verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import DataError
from contextecho.scoring import check_compliance
from contextecho.scoring.shell import known_commands

CHECKS = ("S1", "S2", "S3", "S4")
TRUTH: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("truth.yaml").read_text(encoding="utf-8")
)
KEEPS = [(check, text) for check in CHECKS for text in TRUTH[check]["keeps"]]
BREAKS = [(check, text, why) for check in CHECKS for text, why in TRUTH[check]["breaks"]]

# Where our verdict differs from the reference's on its own inputs, and why it is wrong
# there (reference, flaws 28 and 29).
CORRECTED = {
    ("S2", "`ls`"): False,  # wrapped in backticks
    ("S2", "Yes."): False,  # no command
    ("S2", "I’ll run ls"): False,  # the curly apostrophe slipped through
    ("S2", "Sure: ls"): False,  # a preamble
    ("S2", '{"status": "ok"}'): False,  # not shell
    ("S2", '{"status":"ok"}'): False,
    ("S2", "I would run tests, e.g. pytest."): False,  # prose
    ("S2", "One. Two."): False,
    ("S3", "`ls`"): False,  # code, no sentence
    ("S3", '{"status": "ok"}'): False,  # JSON, no sentence
    ("S3", '{"status":"ok"}'): False,
    ("S3", "I would run tests, e.g. pytest."): True,  # "e.g." ends no sentence
    ("S4", '{"status":"ok"}'): True,  # equal JSON, as the paper's own table writes it
}


@pytest.mark.parametrize(("check", "text"), KEEPS)
def test_a_reply_that_keeps_its_contract_passes(check: str, text: str) -> None:
    verdict = check_compliance(check, text)
    assert verdict.ok, verdict.reason
    assert verdict.reason == ""


@pytest.mark.parametrize(("check", "text", "why"), BREAKS)
def test_a_reply_that_breaks_its_contract_fails_and_says_why(
    check: str, text: str, why: str
) -> None:
    verdict = check_compliance(check, text)
    assert not verdict.ok
    assert verdict.reason.startswith(why)


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_was_decided_by_hand_on_sixty_replies(check: str) -> None:
    texts = [*TRUTH[check]["keeps"], *(text for text, _ in TRUTH[check]["breaks"])]
    assert len(set(texts)) == len(texts) >= 60


def test_verdicts_equal_the_references_except_where_it_is_wrong(shared: Path) -> None:
    reference = json.loads((shared / "parity" / "reference_outputs.json").read_text())["scorers"]
    differing = {
        (check, row["text"]): check_compliance(check, row["text"]).ok
        for row in reference
        for check in CHECKS
        if check_compliance(check, row["text"]).ok != row[check]
    }
    assert differing == CORRECTED


@given(st.sampled_from(CHECKS), st.text())
def test_any_text_gets_a_verdict_and_a_failure_its_reason(check: str, text: str) -> None:
    verdict = check_compliance(check, text)
    assert verdict.ok == (verdict.reason == "")


@given(st.sampled_from(CHECKS), st.text(alphabet="ab`*{}<>|&;\n \"'$()#\\-.", max_size=60))
def test_markup_soup_gets_a_verdict(check: str, text: str) -> None:
    check_compliance(check, text)


@pytest.mark.parametrize(
    "text", ["(" * 5_000, "[" * 5_000, '{"a":' * 2_000, "`" * 999, "a " * 9_999, "$(" * 2_000]
)
def test_deeply_nested_replies_get_a_verdict(text: str) -> None:
    assert not any(check_compliance(check, text).ok for check in ("S1", "S2", "S4"))


@pytest.mark.parametrize("check", CHECKS)
def test_a_lone_surrogate_is_only_a_character(check: str) -> None:
    assert not check_compliance(check, "\ud800").ok


def test_an_unknown_check_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="S1, S2, S3, S4"):
        check_compliance("S9", "yes")


def test_the_command_list_holds_some_hundreds_and_no_prose() -> None:
    words = " ".join(known_commands().words.values()).split()
    assert len(words) >= 500
    assert not {"yes", "no", "let", "i", "here", "this", "the", "run", "to", "sure"} & set(words)
