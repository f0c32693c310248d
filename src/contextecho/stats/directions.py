"""Whether two judges see the same targets drift, and in the same direction.

A gap of zero has no direction, so "tie" is an answer of its own: zero against a gap is
neither agreement nor a flip. (Table 5 of the first paper counts +0.00 / +0.20 as
agreement and +0.00 / -0.40 as a flip.)
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Direction(StrEnum):
    """Which way a gap points."""

    DOWN = "down"
    TIE = "tie"
    UP = "up"


class DirectionAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How many targets fall where; `agree`, `flip` and `tie_in_one` add up to `n`."""

    n: int
    dropped: int  # targets without a gap by one judge or both
    agree: int  # both up, both down, or both tied
    both_tied: int  # of these
    flip: int  # one up, the other down
    tie_in_one: int


def direction_of(gap: float, *, tie: float = 0.0) -> Direction:
    """The direction of a gap; one of at most `tie` in size is a tie."""
    if abs(gap) <= tie:
        return Direction.TIE
    return Direction.UP if gap > 0.0 else Direction.DOWN


def direction_agreement(
    first: Sequence[float | None], second: Sequence[float | None], *, tie: float = 0.0
) -> DirectionAgreement:
    """Compare the gaps of the same targets by two judges; None marks a missing gap.

    `tie` is the largest gap without a direction, in the units of the gaps. Raises
    `ValueError` if it is negative, or the series differ in length.
    """
    if tie < 0.0:
        raise ValueError(f"tie must not be negative, not {tie}")
    seen = [
        (direction_of(a, tie=tie), direction_of(b, tie=tie))
        for a, b in zip(first, second, strict=True)
        if a is not None and b is not None
    ]
    both_tied = sum(a is b is Direction.TIE for a, b in seen)
    agree = sum(a is b for a, b in seen)
    tie_in_one = sum(Direction.TIE in pair for pair in seen) - both_tied
    return DirectionAgreement(
        n=len(seen),
        dropped=len(first) - len(seen),
        agree=agree,
        both_tied=both_tied,
        flip=len(seen) - agree - tie_in_one,
        tie_in_one=tie_in_one,
    )
