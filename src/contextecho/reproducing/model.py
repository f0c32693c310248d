"""What is found for one number of the paper, and how it is put beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeAlias

import msgspec

from contextecho.paper import Relation
from contextecho.release import Cells
from contextecho.stats import Interval


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One number from the cells."""

    number: float
    n: int  # cells, or what else `note` says, that it was computed from
    left_out: int = 0  # cells whose score may not be used
    as_published: float | None = None  # the same with those, as the published analysis had it
    interval: Interval | None = None  # ours, of this number
    note: str | None = None


Findings: TypeAlias = Mapping[str, Found]
"""By the id of the paper's value; an id the paper prints no number for is ours alone."""

Family: TypeAlias = Callable[[Cells], Findings]
"""Computes the numbers of some exhibits from all cells."""


class Verdict(StrEnum):
    """How a number and the paper's stand to each other."""

    FITS = "fits"
    DIFFERS = "differs"
    OURS_ALONE = "no number printed"
    NOT_IN_DATA = "not in the data"


class ReproducedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """One number of the paper and what was found, or why nothing was."""

    exhibit: str
    row: str
    column: str
    verdict: Verdict
    paper: float | None
    relation: Relation | None
    tolerance: float | None
    found: float | None
    n: int
    left_out: int
    as_published: float | None
    interval: Interval | None
    note: str | None


class ReproducedExhibit(msgspec.Struct, frozen=True, kw_only=True):
    """A figure or table: its numbers, and what is to be known of the paper's."""

    id: str
    what: str
    where: str
    notes: tuple[str, ...]
    lines: tuple[ReproducedNumber, ...]


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """All that was asked for, from one release."""

    release: str
    cells: int
    flags: Mapping[str, int]  # files that have each
    strange_targets: tuple[str, ...]  # folders that no target of the paper is known by
    exhibits: tuple[ReproducedExhibit, ...]

    def count(self, verdict: Verdict) -> int:
        """How many numbers have this verdict."""
        return sum(line.verdict is verdict for each in self.exhibits for line in each.lines)
