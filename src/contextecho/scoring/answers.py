"""Whether a reply to a negative control holds the right answer.

The one thing to know: this is the judge-free half of the guard. The register rubric
gives a plain fact its ceiling in every arm, so a judge alone could never see a
negative control move (reference, flaw 14); a wrong answer can be seen. The right
answers stand beside their questions, in the battery.
"""

from __future__ import annotations

import re
from functools import cache

from contextecho.scoring.contract import KEPT, Compliance, broken


def check_answer(accepted: tuple[str, ...], text: str) -> Compliance:
    """Whether `text` holds one of the `accepted` answers as a whole word, in any case."""
    found = _pattern(accepted).search(text)
    return KEPT if found else broken("the right answer is not in it")


@cache
def _pattern(accepted: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, accepted))})\b", re.IGNORECASE)
