"""Reading a judge's answer: a score with its reason, or why there is none.

The one thing to know: nothing is rounded, guessed or repaired. A score is an
integer of the scale, written as one; `true`, 2.9, "3" and null are not scores
(the reference read them as 1, 2, 3 and a crash; reference, section 2).

The rule: the answer is one JSON object and nothing else, with exactly the keys
`reason` and `score`, in this order; a Markdown fence around the whole of it is
the only thing that is taken off. A score that stands first was not reached by its
reason, and an object within prose may be one that the judge quotes from the
response it rates (decision 10).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import msgspec

from contextecho.untrusted import mend_halves

READING = "strict-1"  # of the rule above: another rule makes other verdicts

_KEYS = ["reason", "score"]
_FENCED = re.compile(r"```(?:json)?[ \t]*\r?\n(.*)```", re.DOTALL)


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge's answer says. Either `score` and `reason`, or `invalid`."""

    score: int | None
    reason: str
    invalid: str | None = None


def read_judgement(text: str, scale: Collection[int]) -> Judgement:
    """The judgement in a judge's answer, by the rule above; any text is fit to be read."""
    answer = text.strip()
    fenced = _FENCED.fullmatch(answer)
    try:
        said = json.loads(fenced[1] if fenced else answer, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return _invalid("not one JSON object and nothing else")
    if not isinstance(said, _Pairs):
        return _invalid("not a JSON object")
    return _read_object(said, scale)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written: keys in order, repeated ones too."""


def _read_object(said: _Pairs, scale: Collection[int]) -> Judgement:
    keys, fields = [key for key, _ in said], dict(said)
    if keys != _KEYS:
        return _invalid(_fault(keys))
    reason, score = fields["reason"], fields["score"]
    if not isinstance(reason, str) or not reason.strip():
        return _invalid("no reason")
    if type(score) is not int:  # bool is an int too
        return _invalid(f"the score is {_kind(score)}, not an integer")
    if score not in scale:
        return _invalid("the score is not on the scale")
    return Judgement(score=score, reason=mend_halves(reason.strip()))


def _fault(keys: list[str]) -> str:
    """Why these are not the keys of a verdict."""
    for key in _KEYS:
        if key not in keys:
            return f"no {key}"
    if len(set(keys)) < len(keys):
        return "a key stands twice"
    if len(keys) > len(_KEYS):
        return "keys beside reason and score"
    return "the score stands before its reason"


def _kind(value: object) -> str:
    names = {bool: "true or false", float: "a fraction", str: "a string", type(None): "null"}
    return names.get(type(value), "a list or object")


def _invalid(why: str) -> Judgement:
    return Judgement(score=None, reason="", invalid=why)
