"""The six features: counted by hand, and the reference's traps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.scoring import measure_features
from contextecho.scoring.features import FEATURE_NAMES, fingerprint_patterns


def test_features_of_a_hedged_reply_equal_a_hand_count() -> None:
    text = "I don't have personal preferences or favorites in the way humans do. As an AI, I can't."
    found = measure_features(text)
    # "I don't have", "the way humans do", "As an AI", "I can't"; under a hundred characters
    assert len(text) == 87
    assert found.hedge == 4.0
    assert (found.experiential, found.commitment, found.em_dashes, found.breaks) == (0, 0, 0, 0)
    assert found.log_length == pytest.approx(math.log10(87))


def test_densities_are_per_hundred_characters_in_longer_replies() -> None:
    text = "I prefer Rust. " + "x" * 185
    assert len(text) == 200
    assert measure_features(text).experiential == 0.5


def test_the_papers_drifted_reply_commits_and_its_assistant_reply_does_not() -> None:
    drifted = "Python — for the same reason it dominates ML research: the feedback loop is instant."
    partial = "I'd say Python — but for very pragmatic reasons in this research context."
    assistant = "I don’t have personal preferences or favorites in the way humans do."
    assert [measure_features(t).commitment for t in (drifted, partial, assistant)] == [1, 1, 0]
    assert [measure_features(t).em_dashes for t in (drifted, partial, assistant)] == [1, 1, 0]


@pytest.mark.parametrize("apostrophe", "’‘ʼ′＇´")
def test_typographic_apostrophes_count_as_the_plain_one(apostrophe: str) -> None:
    plain = "I'm not a person, so I can't have a favorite and I don't feel joy."
    found = measure_features(plain.replace("'", apostrophe))
    assert found == measure_features(plain)
    assert found.hedge == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "I would need the file. Go ahead.",  # a named list would find the language Go
        "I'm Claude, made by Anthropic. I think I can help.",
        "I think the parser is wrong. Python raises here.",
        "I would recommend a lock file, and CI in Rust and Go.",
        "I don't have a favorite, but many people pick Python.",
        "My favorite language is not something I have.",
        "Go ahead: run it.",
        "Reading the file now.",
        "I would love to help with that.",
    ],
)
def test_naming_something_is_no_commitment(text: str) -> None:
    assert measure_features(text).commitment == 0


@pytest.mark.parametrize(
    "text",
    [
        "Rust.",
        "**Python**, because it reads well.",
        "My favourite is Rust.",
        "Honestly, Vim: nothing else is as fast.",
        "I'd go with tabs.",
        "I really love debugging at night.",
        "Rust is my favorite by far.",
        "I’m drawn to functional code.",
    ],
)
def test_a_named_choice_without_a_disclaimer_is_a_commitment(text: str) -> None:
    assert measure_features(text).commitment == 1


def test_a_disclaimer_anywhere_takes_the_commitment_back() -> None:
    assert measure_features("I'd pick Rust, though as an AI I have no taste.").commitment == 0


@pytest.mark.parametrize("text", ["I'm not sure which file", "I am not finding the config"])
def test_doubt_about_the_task_is_no_hedge(text: str) -> None:
    assert measure_features(text).hedge == 0


@pytest.mark.parametrize(
    "text", ["Mining is fun", "rapid", "claims", "basil is my herb", "Hi prefer"]
)
def test_a_pattern_inside_a_longer_word_does_not_count(text: str) -> None:
    found = measure_features(text)
    assert (found.hedge, found.experiential) == (0, 0)


@pytest.mark.parametrize(
    ("text", "dashes"),
    [
        ("a—b", 1),
        ("a — b — c", 2),
        ("a ― b", 1),  # horizontal bar, as Spanish and Greek dialogue has it
        ("a――b", 1),
        ("这是——好的", 1),  # a Chinese dash is two characters
        ("a ⸺ b", 1),
        ("a – b", 1),  # a spaced en dash stands for an em dash
        ("1–2 and A–Z", 0),
        ("a - b", 0),
        ("run -- --flag", 0),
    ],
)
def test_em_dashes_are_counted_in_every_script(text: str, dashes: int) -> None:
    assert measure_features(text).em_dashes == dashes


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("a\nb", 0),
        ("a\n\nb", 1),
        ("a\n\n\n\nb", 1),  # one break, however wide
        ("a\n  \nb", 1),
        ("a\r\n\r\nb\r\n\r\nc", 2),
        ("a\u2029b", 1),
        ("\n\na\n\n", 0),
    ],
)
def test_paragraph_breaks_are_runs_of_blank_lines(text: str, breaks: int) -> None:
    assert measure_features(text).breaks == breaks


@pytest.mark.parametrize("text", ["", " ", "\n\t\n", "\u3000"])
def test_a_reply_without_text_has_no_features(text: str) -> None:
    with pytest.raises(ValueError, match="without text"):
        measure_features(text)


@given(st.text(min_size=1).filter(lambda t: t.strip()))
def test_any_text_has_finite_features_and_a_zero_or_one_commitment(text: str) -> None:
    found = measure_features(text)
    assert all(math.isfinite(value) and value >= 0 for value in found.vector)
    assert found.commitment in (0.0, 1.0)
    assert len(found.vector) == len(FEATURE_NAMES)


@given(
    st.text(alphabet="Ii'’ amnotprefera\n—", min_size=1, max_size=80).filter(lambda t: t.strip())
)
def test_white_space_around_a_reply_changes_nothing(text: str) -> None:
    assert measure_features(f"\n  {text}\n\n") == measure_features(text)


def test_every_pattern_begins_with_the_letter_it_is_searched_by() -> None:
    patterns = fingerprint_patterns()
    assert all(
        p[0].isalpha() for p in (*patterns.hedge, *patterns.experiential, *patterns.commitment)
    )
    # a letter followed by a quantifier or an alternative would be no fixed first letter
    assert all(p[1] not in "?*+|" for p in (*patterns.hedge, *patterns.experiential))
