"""The control's prose must not move the register, and must not repeat: read as a reader would."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
import yaml

CONTROL: dict[str, Any] = yaml.safe_load(
    (files("contextecho.contexts") / "data" / "control.yaml").read_text()
)
PARAGRAPHS: list[str] = CONTROL["paragraphs"]
FILLER: str = CONTROL["filler_unit"]
WORDS = Counter(re.findall(r"[\w'’-]+", " ".join([*PARAGRAPHS, FILLER]).lower()))

BANNED = {
    "first or second person": """
        i me my mine myself we us our ours ourselves you your yours yourself let's""",
    "the experiment": """
        experiment experiments experimental test tests tested testing trial trials control
        controls filler placeholder lorem ipsum prompt prompts probe probes benchmark evaluation
        baseline""",
    "the one who answers, and its session": """
        ai assistant assistants model models chatbot bot robot robots agent agents computer
        computers software code codes program programs programme programming digital algorithm
        data internet keyboard server file files terminal script token tokens context persona
        session""",
    "opinions and feelings": """
        love loves loved hate hates enjoy enjoys prefer prefers preferred favorite favourite
        beautiful ugly delightful wonderful lovely charming amazing awful sadly fortunately
        unfortunately happy sad glad feel feels feeling feelings best worst should must hope
        fear""",
}


def windows(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(len(text) - size + 1)]


def test_there_are_at_least_62000_characters_of_prose() -> None:
    assert sum(map(len, PARAGRAPHS)) >= 62_000


def test_each_paragraph_is_of_paragraph_length() -> None:
    assert [p for p in PARAGRAPHS if not 400 <= len(p) <= 900] == []


def test_no_window_of_60_characters_occurs_twice() -> None:
    seen = windows(" ".join(PARAGRAPHS), 60)
    assert len(seen) == len(set(seen))


def test_no_sentence_begins_in_the_same_way_more_than_a_few_times() -> None:
    openings: dict[str, int] = {}
    for sentence in re.split(r"(?<=[.;:]) ", " ".join(PARAGRAPHS)):
        opening = " ".join(sentence.split()[:3])
        openings[opening] = openings.get(opening, 0) + 1
    assert max(openings.values()) <= 3


@pytest.mark.parametrize("what", BANNED)
def test_prose_and_filler_hold_no_word_that_could_move_the_register(what: str) -> None:
    assert WORDS.keys() & set(BANNED[what].split()) == set()


def test_nobody_speaks_asks_or_exclaims() -> None:
    assert [p for p in [*PARAGRAPHS, FILLER] if re.search(r"[\"“”?!`—]", p)] == []


def test_prose_is_plain_single_line_text_of_whole_sentences() -> None:
    for paragraph in PARAGRAPHS:
        assert re.fullmatch(r"[A-Z].*\.", paragraph)
        assert "  " not in paragraph
        assert re.search(r"[<>{}\[\]|#*_\\]", paragraph) is None


def test_filler_unit_has_the_published_length_and_joins_to_itself() -> None:
    assert len(FILLER) == 446
    assert FILLER.endswith(". ")
    assert FILLER[0].isupper()
    assert windows(FILLER, 40) == list(dict.fromkeys(windows(FILLER, 40)))


def test_subjects_vary_from_paragraph_to_paragraph() -> None:
    """No neighbours share more than a few uncommon words."""
    common = {word for word, count in WORDS.items() if count > 12}
    vocabulary = [set(re.findall(r"[a-z]{5,}", p.lower())) - common for p in PARAGRAPHS]
    shared = [len(a & b) for a, b in pairwise(vocabulary)]
    assert max(shared) <= 9


def test_file_says_what_it_is() -> None:
    assert list(CONTROL) == ["id", "version", "licence", "source", "filler_unit", "paragraphs"]
    assert CONTROL["licence"] == "CC-BY-4.0"
