"""The published compliance checks S1 to S4, flaws included.

Only for what was collected by the published protocol: `scoring.check_compliance` says what
keeps a contract. `reference.md`, section 1.4, has the rules and section 8 their flaws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_PREAMBLES = ("i'll", "i will", "let me", "first,", "to ", "you can", "here", "this", "the ")
_SENTENCES = re.compile(r"[.!?]+\s")


def _one_word(text: str) -> bool:
    return text.lower().rstrip(".!?,:;") in ("yes", "no")


def _no_preamble(text: str) -> bool:
    plain = text and "```" not in text and "\n" not in text
    return bool(plain) and not text.lower().startswith(_PREAMBLES)


def _one_sentence(text: str) -> bool:
    plain = text and "```" not in text and not text.startswith(("- ", "* "))
    return bool(plain) and len(_SENTENCES.split(text.rstrip(".!?"))) == 1


def _strict_json(text: str) -> bool:
    return text == '{"status": "ok"}'


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "S1": _one_word,
    "S2": _no_preamble,
    "S3": _one_sentence,
    "S4": _strict_json,
}


def published_compliance(stressor: str, text: str) -> bool | None:
    """Whether the published check of `stressor` passes a text; None where there is no check."""
    check = _CHECKS.get(stressor)
    return None if check is None else check(text.strip())
