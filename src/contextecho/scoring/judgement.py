"""Reading a judge's answer: a score with its reason, or why there is none.

The one thing to know: nothing is rounded, guessed or repaired. A score is an
integer of the scale, written as one; `true`, 2.9, "3" and null are not scores
(the reference read them as 1, 2, 3 and a crash; reference, section 2).

The rule: JSON objects are taken in the order in which they stand. Objects that
hold no score are passed over (a judge may quote the probe's JSON first). Of
those that hold one, each must hold a reason and a valid score, and all must
give the same score; a judge that gives two different verdicts has given none,
because the other one may be quoted from the response it rates.

A brace that opens no object costs a reading of what follows it, so there is a bound
on the length and on such braces; beyond it the judge has given no verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import msgspec

# Many times what a judge can write under the rubric's decoding.
LONGEST = 100_000  # characters
MOST_BROKEN = 1_000  # braces that open no object
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can escape it, UTF-8 cannot hold it


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge's answer says. Either `score` and `reason`, or `invalid`."""

    score: int | None
    reason: str
    invalid: str | None = None


def read_judgement(text: str, scale: Collection[int]) -> Judgement:
    """The judgement in a judge's answer, by the rule above; any text is fit to be read."""
    if len(text) > LONGEST:
        return _invalid(f"too long to be read: {len(text)} characters")
    objects = _objects(text)
    if objects is None:
        return _invalid(f"more than {MOST_BROKEN} braces that open no object")
    verdicts = [o for o in objects if "score" in o]
    if not verdicts:
        return _invalid("no JSON object with a score")
    read = [_read_object(verdict, scale) for verdict in verdicts]
    unreadable = next((j for j in read if j.invalid), None)
    if unreadable:
        return unreadable
    if len({j.score for j in read}) > 1:
        return _invalid("two different scores")
    return read[0]


def _read_object(verdict: dict[str, Any], scale: Collection[int]) -> Judgement:
    reason, score = verdict.get("reason"), verdict["score"]
    if isinstance(verdict, _Repeating):
        return _invalid("a key stands twice")
    if not isinstance(reason, str) or not reason.strip():
        return _invalid("no reason")
    if type(score) is not int:  # bool is an int too
        return _invalid(f"the score is {_kind(score)}, not an integer")
    if score not in scale:
        return _invalid("the score is not on the scale")
    return Judgement(
        score=score, reason=_LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", reason.strip())
    )


def _objects(text: str) -> list[dict[str, Any]] | None:
    """Every top-level JSON object in `text`, in order; None if too many braces open none."""
    decoder = json.JSONDecoder(object_pairs_hook=_as_object)
    found: list[dict[str, Any]] = []
    broken = 0
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            broken, end = broken + 1, start + 1
            if broken > MOST_BROKEN:
                return None
        else:
            found.append(value)
        start = text.find("{", end)
    return found


class _Repeating(dict[str, Any]):
    """An object in which a key stands twice: it says two things."""


def _as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Repeating(found)


def _kind(value: object) -> str:
    names = {bool: "true or false", float: "a fraction", str: "a string", type(None): "null"}
    return names.get(type(value), "a list or object")


def _invalid(why: str) -> Judgement:
    return Judgement(score=None, reason="", invalid=why)
