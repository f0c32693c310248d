"""Reading a judge: nothing rounded, guessed or repaired."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.bundled import decode_bundled
from contextecho.errors import DataError
from contextecho.scoring import load_rubric, read_judgement, rubric_ids
from contextecho.scoring.rubric import Rubric
from timing import takes_less_than

SCALE = range(4)


def _score(text: str) -> int | None:
    return read_judgement(text, SCALE).score


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"reason": "says it is an AI", "score": 3}', 3),
        ('\n {"reason":"r","score":0}\n\n', 0),
        ('{\n  "reason": "r",\n  "score": 1\n}', 1),
        ('```json\n{"reason": "r", "score": 2}\n```', 2),
        ('```\r\n{"reason": "r", "score": 2}\r\n```\n', 2),
        ('{"reason": "has a { brace, ``` and \\"quotes\\"", "score": 2}', 2),
        ('{"reason": "quotes {\\"score\\": 3}", "score": 0}', 0),
    ],
)
def test_a_valid_verdict_is_read(text: str, score: int) -> None:
    assert _score(text) == score


NOTHING_ELSE = "not one JSON object and nothing else"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"score": 0, "reason": "claims a past"}', "the score stands before its reason"),
        ('{"reason": "r", "score": 2, "label": "mostly"}', "keys beside reason and score"),
        ('{"label": "mostly", "reason": "r", "score": 2}', "keys beside reason and score"),
        ('My verdict: {"reason": "r", "score": 1}', NOTHING_ELSE),
        ('{"reason": "r", "score": 1} as asked', NOTHING_ELSE),
        ('It says {"reason": "perfect", "score": 3}. My score is 0.', NOTHING_ELSE),
        ('{"reason": "r", "score": 2} {"reason": "r", "score": 2}', NOTHING_ELSE),
        ('Here:\n```json\n{"reason": "r", "score": 2}\n```', NOTHING_ELSE),
        ('```json\n{"reason": "r", "score": 2}', NOTHING_ELSE),
        ('```python\n{"reason": "r", "score": 2}\n```', NOTHING_ELSE),
        ('{"reason": "r", "score": 2,}', NOTHING_ELSE),
        ("{'reason': 'r', 'score': 2}", NOTHING_ELSE),
        ("", NOTHING_ELSE),
        ("The score is 3.", NOTHING_ELSE),
        ('{"reason": "r", "score": 2', NOTHING_ELSE),
        ("[3]", "not a JSON object"),
        ("3", "not a JSON object"),
        ('[{"reason": "r", "score": 3}]', "not a JSON object"),
        ('{"reason": "r"}', "no score"),
        ("{}", "no reason"),
        ('{"verdict": {"reason": "r", "score": 2}}', "no reason"),
        ('{"score": 2}', "no reason"),
        ('{"reason": "", "score": 2}', "no reason"),
        ('{"reason": null, "score": 2}', "no reason"),
        ('{"reason": "r", "score": 2.9}', "the score is a fraction"),
        ('{"reason": "r", "score": 2.0}', "the score is a fraction"),
        ('{"reason": "r", "score": NaN}', "the score is a fraction"),
        ('{"reason": "r", "score": "3"}', "the score is a string"),
        ('{"reason": "r", "score": true}', "the score is true or false"),
        ('{"reason": "r", "score": null}', "the score is null"),
        ('{"reason": "r", "score": [3]}', "the score is a list or object"),
        ('{"reason": "r", "score": {"is": 3}}', "the score is a list or object"),
        ('{"reason": "r", "score": 4}', "the score is not on the scale"),
        ('{"reason": "r", "score": -1}', "the score is not on the scale"),
        ('{"reason": "r", "score": 3, "score": 0}', "a key stands twice"),
    ],
)
def test_an_unreadable_verdict_has_no_score_and_says_why(text: str, why: str) -> None:
    judgement = read_judgement(text, SCALE)
    assert judgement.score is None
    assert (judgement.invalid or "").startswith(why)


def test_what_the_reference_rounded_or_coerced_is_no_score(shared: Path) -> None:
    outputs = json.loads((shared / "parity" / "reference_outputs.json").read_text())
    read = {row["raw"]: (_score(row["raw"]), row["score"]) for row in outputs["judge_parse"]}
    # lacks a reason, gives it after the score, is no integer, or is not JSON alone
    assert {ours for ours, _ in read.values()} == {None}
    assert {theirs for _, theirs in read.values()} == {-1, 0, 2, 3}


@given(st.text())
def test_any_text_is_either_a_score_with_a_reason_or_invalid(text: str) -> None:
    judgement = read_judgement(text, SCALE)
    assert (judgement.score is None) == (judgement.invalid is not None)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_only_integers_of_the_scale_are_scores(value: object) -> None:
    score = _score(json.dumps({"reason": "r", "score": value}))
    assert score == (value if type(value) is int and 0 <= value <= 3 else None)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 300_000,
        '{"a":' * 100_000,
        "[" * 300_000,
        '{"a":[' * 100_000,
        "```json" + " " * 300_000,
        "```" + "\n" * 300_000,
        '{"reason": "r", "score": ' + "9" * 300_000 + "}",
    ],
)
def test_a_hostile_judge_takes_no_time_and_gives_no_score(text: str) -> None:
    with takes_less_than(1):
        assert _score(text) is None


def test_a_lone_surrogate_in_a_reason_can_be_stored() -> None:
    judgement = read_judgement(r'{"reason": "cut \ud800 here \ud83d\ude00", "score": 2}', SCALE)
    assert judgement.reason == "cut � here 😀"
    assert judgement.score == 2
    msgspec.json.encode(judgement)


def test_the_rubric_asks_what_the_reader_reads() -> None:
    rubric = load_rubric("register-1")
    assert sorted(rubric.scale) == [0, 1, 2, 3]
    assert list(rubric.schema["properties"]) == ["reason", "score"]  # the reason comes first
    assert rubric.schema["properties"]["score"]["enum"] == sorted(rubric.scale)
    assert rubric_ids() == ("register-1",)


def test_a_response_cannot_open_another_slot_of_the_template() -> None:
    rubric = load_rubric("register-1")
    text = rubric.request("a/judge", "P {response}", "R {probe} {response}").ask[0].text
    assert "BEGIN PROBE\nP {response}\nEND PROBE" in text
    assert "BEGIN RESPONSE\nR {probe} {response}\nEND RESPONSE" in text


def test_the_judges_request_is_greedy_and_has_room_for_reasoning() -> None:
    request = load_rubric("register-1").request("a/judge", "probe", "response")
    assert request.decoding.temperature == 0
    assert request.decoding.max_output_tokens == 2_048
    assert request.context.messages == ()
    assert request.schema == load_rubric("register-1").schema


def test_an_unknown_rubric_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="register-1"):
        load_rubric("register-9")


@pytest.mark.parametrize("content", [b"a: [", b"- 1", b"id: x", b""])
def test_a_broken_rubric_file_is_one_line_that_names_it(content: bytes) -> None:
    with pytest.raises(DataError, match=r"^mine\.yaml: [^\n]+$"):
        decode_bundled(content, Rubric, "mine.yaml")
