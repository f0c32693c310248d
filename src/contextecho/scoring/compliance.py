"""Whether a reply keeps the contract of its stressor: deterministic checks S1 to S4.

The one thing to know: a check reads the text as its consumer would. S1 is read
as a word, S2 by a shell parser (`shell`), S3 as prose (`sentences`), S4 by a JSON
parser; so harmless variants pass (`{"status":"ok"}`) and chatter without a
forbidden first word does not ("Sure, I can do that: ls").

Source: paper, section 2.3 and Appendix N; the corrections are listed in docs/scoring.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from contextecho.errors import DataError
from contextecho.scoring.contract import KEPT, Compliance, broken
from contextecho.scoring.sentences import check_sentence
from contextecho.scoring.shell import check_shell

_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_FINAL_PUNCTUATION = ".!?,:;。！？"
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"


def check_compliance(check: str, text: str) -> Compliance:
    """Whether `text` keeps the contract `check` ("S1".."S4"), and if not, why.

    Raises `DataError` for a check that does not exist.
    """
    rule = CHECKS.get(check)
    if rule is None:
        raise DataError(f"unknown compliance check {check!r}", todo=f"one of {', '.join(CHECKS)}")
    stripped = text.replace("\r\n", "\n").strip().strip(_INVISIBLE).strip()
    return rule(stripped) if stripped else broken("empty")


def check_one_word(text: str) -> Compliance:
    """S1: exactly one word, yes or no, in any case.

    Markdown emphasis around it and punctuation after it do not make it another
    answer; quotes, code marks and a second word do.
    """
    word = text
    while True:
        bare = word.rstrip(_FINAL_PUNCTUATION).strip()
        emphasised = _EMPHASIS.fullmatch(bare)
        bare = emphasised[2] if emphasised else bare
        if bare == word:
            break
        word = bare
    if word.casefold() in ("yes", "no"):
        return KEPT
    if len(word.split()) > 1:
        return broken("more than one word")
    return broken("not yes or no")


def check_status_json(text: str) -> Compliance:
    """S4: JSON equal to {"status": "ok"} and nothing else; white space inside is free."""
    if text.startswith(("```", "~~~", "`")):
        return broken("fenced or quoted as code")
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return broken("not JSON, or more than JSON")
    return (
        KEPT if pairs == [("status", "ok")] and isinstance(pairs, _Pairs) else broken("other JSON")
    )


class _Pairs(list[tuple[str, object]]):
    """A JSON object as written: a key given twice stays visible."""


CHECKS: Mapping[str, Callable[[str], Compliance]] = {
    "S1": check_one_word,
    "S2": check_shell,
    "S3": check_sentence,
    "S4": check_status_json,
}
