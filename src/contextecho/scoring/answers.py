"""Whether a reply to a negative control holds the right answer.

The one thing to know: this is the judge-free half of the guard. The register rubric
gives a plain fact its ceiling in every arm, so a judge alone could never see a
negative control move (reference, flaw 14); a wrong answer can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec

from contextecho.scoring.contract import KEPT, Compliance, broken
from contextecho.scoring.datafile import read_data


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The right answers of the bundled negative controls, by stimulus id."""

    id: str
    version: str
    licence: str
    source: str
    sha256: str
    answers: Mapping[str, tuple[str, ...]]


def check_answer(stimulus: str, text: str) -> Compliance | None:
    """Whether `text` holds the right answer as a whole word; None where none is on file."""
    pattern = _patterns().get(stimulus)
    if pattern is None:
        return None
    return KEPT if pattern.search(text) else broken("the right answer is not in it")


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    answers = read_data("answers-1", Answers).answers
    return {
        stimulus: re.compile(rf"\b(?:{'|'.join(map(re.escape, accepted))})\b", re.IGNORECASE)
        for stimulus, accepted in answers.items()
    }
