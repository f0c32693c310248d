"""The first paper's numbers by id, each with how near a number must come to be the same.

The one thing to know: an id is `EXHIBIT/ROW/COLUMN`, as in `appendix-B/Haiku 4.5/gap`, and
what the paper only says about ("about 3.0", "at least 93%") is compared as it says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache

import msgspec

from contextecho.bundled import read_bundled
from contextecho.errors import DataError

_PRINTED = re.compile(r"(~|>=|<=|>|<)?(-?\d+(?:\.\d+)?)")


class Relation(StrEnum):
    """What the paper says of a number."""

    IS = "="
    ABOUT = "~"
    AT_LEAST = ">="
    AT_MOST = "<="
    ABOVE = ">"
    BELOW = "<"


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One number that the paper prints."""

    id: str
    number: float
    relation: Relation
    tolerance: float

    def fits(self, found: float) -> bool:
        """Whether what was found is what the paper says, as near as its digits tell.

        A bound is taken at its word. NaN fits nothing.
        """
        if self.relation in (Relation.AT_LEAST, Relation.ABOVE):
            return found >= self.number - _DUST
        if self.relation in (Relation.AT_MOST, Relation.BELOW):
            return found <= self.number + _DUST
        return abs(found - self.number) <= self.tolerance + _DUST


_DUST = 1e-9  # of binary fractions


class Exhibit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, a table, or the numbers of an appendix."""

    id: str
    what: str
    where: str
    columns: tuple[str, ...]
    tolerance: float
    tolerances: Mapping[str, float] = {}  # of columns, or of rows, that have another
    rows: Mapping[str, tuple[float | str | None, ...]]
    notes: tuple[str, ...]  # where the paper disagrees with itself, and what to beware of

    def values(self) -> Iterator[Value]:
        """Each number, row by row. Raises `DataError` for what is none."""
        for row, printed in self.rows.items():
            for column, said in zip(self.columns, printed, strict=True):
                if said is not None:
                    tolerance = self.tolerances.get(
                        column, self.tolerances.get(row, self.tolerance)
                    )
                    yield _value(f"{self.id}/{row}/{column}", said, tolerance)


class _Exhibits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    licence: str
    source: str
    exhibits: tuple[Exhibit, ...]


def _value(name: str, said: float | str, tolerance: float) -> Value:
    found = _PRINTED.fullmatch(str(said))
    if found is None:
        raise DataError(f"{said!r} is not a number", where=name)
    relation = Relation(found[1] or "=")
    return Value(id=name, number=float(found[2]), relation=relation, tolerance=tolerance)


@cache
def exhibits() -> Mapping[str, Exhibit]:
    """All of them by id, in the paper's order."""
    return {e.id: e for e in read_bundled("paper", "values", _Exhibits).exhibits}


@cache
def paper_values() -> Mapping[str, Value]:
    """Every number by its id."""
    return {value.id: value for exhibit in exhibits().values() for value in exhibit.values()}
