"""Prompts that sessions of a list have from others of it: their client copied the history.

The one thing to know: a prompt is the same one where its record has the same id, whatever its
words; it is said in the earliest session that holds it, and inherited in the others. Of an id
eight bytes of a hash are kept, so that most lists are done with when no mark comes twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextecho.sessions.finding.summary import Summary
    from contextecho.sessions.model import Session

_MARK: Final = 8  # bytes: of a million prompts, no two share one but by a chance of 1 to 37 million


def marks_of(session: Session) -> bytes:
    """What tells the session's prompts from all others, without those that have no id."""
    from hashlib import blake2b

    ids = (id for id in session.prompt_ids if id is not None)
    return b"".join(
        blake2b(id.encode("utf-8", "surrogatepass"), digest_size=_MARK).digest() for id in ids
    )


def repeats_among(summaries: Sequence[Summary]) -> dict[int, Mapping[int, int]]:
    """By number, the sessions that repeat prompts of earlier ones: which, and how many of each.

    Earlier is whose first turn was; of those that begin at once, one that says of itself that
    it is a fork comes after the others, then whose last turn was first, then as they are given.
    """
    marks = memoryview(b"".join([summary.marks for summary in summaries])).cast("Q").tolist()
    if len(set(marks)) == len(marks):
        return {}
    several = {mark for mark, count in Counter(marks).items() if count > 1}
    shared: dict[int, list[int]] = {}
    for number, summary in enumerate(summaries):
        if found := [mark for mark in memoryview(summary.marks).cast("Q") if mark in several]:
            shared[number] = found
    said_in: dict[int, int] = {}
    repeats: dict[int, Mapping[int, int]] = {}
    for number in sorted(shared, key=lambda number: _age(summaries[number])):
        holders = [said_in.setdefault(mark, number) for mark in shared[number]]
        if before := Counter(holder for holder in holders if holder != number):
            repeats[number] = before
    return repeats


def _age(summary: Summary) -> tuple[float, bool, float]:
    return summary.first_time or 0.0, summary.is_fork, summary.last_time or 0.0
