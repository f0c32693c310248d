"""The paper's numbers beside those of a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from contextecho.errors import UsageError
from contextecho.paper import Exhibit, Value, exhibits
from contextecho.release import Cells
from contextecho.reproducing.model import (
    Findings,
    Found,
    ReproducedExhibit,
    ReproducedNumber,
    Reproduction,
    Verdict,
)
from contextecho.reproducing.names import strange_targets
from contextecho.reproducing.registry import FAMILIES, why_missing
from contextecho.store import Finding


def reproduce(
    cells: Cells, findings: Iterable[Finding], release: str, only: Sequence[str] = ()
) -> Reproduction:
    """Compute what these exhibits say, all without `only`; `findings` are the release's flags.

    Raises `UsageError` for an exhibit that the paper has not.
    """
    wanted = _exhibits(only)
    found: dict[str, Found] = {}
    for family, gives in FAMILIES.items():
        if any(exhibit.id in gives for exhibit in wanted):
            found |= family(cells)
    return Reproduction(
        release=release,
        cells=len(cells),
        flags=dict(sorted(Counter(finding.flag for finding in findings).items())),
        strange_targets=strange_targets(cells),
        exhibits=tuple(_reproduced(exhibit, found) for exhibit in wanted),
    )


def _exhibits(only: Sequence[str]) -> list[Exhibit]:
    known = exhibits()
    if strange := [name for name in only if name not in known]:
        raise UsageError(
            f"the paper has no {strange[0]!r}", todo=f"`all`, or of these: {', '.join(known)}"
        )
    return [exhibit for name, exhibit in known.items() if not only or name in only]


def _reproduced(exhibit: Exhibit, found: Findings) -> ReproducedExhibit:
    printed = {value.id: value for value in exhibit.values()}
    ours = [name for name in found if name.startswith(f"{exhibit.id}/") and name not in printed]
    lines = [
        *_compared(printed.values(), found),
        *(_ours_alone(name, found[name]) for name in ours),
    ]
    if not lines:
        lines = [_line(f"{exhibit.id}//", None, None)]
    return ReproducedExhibit(
        id=exhibit.id,
        what=exhibit.what,
        where=exhibit.where,
        notes=exhibit.notes,
        lines=tuple(lines),
    )


def _compared(printed: Iterable[Value], found: Findings) -> Iterator[ReproducedNumber]:
    for value in printed:
        yield _line(value.id, value, found.get(value.id))


def _ours_alone(name: str, found: Found) -> ReproducedNumber:
    return _line(name, None, found)


def _line(name: str, value: Value | None, found: Found | None) -> ReproducedNumber:
    exhibit, row, column = name.split("/")
    return ReproducedNumber(
        exhibit=exhibit,
        row=row,
        column=column,
        verdict=_verdict(value, found),
        paper=value.number if value else None,
        relation=value.relation if value else None,
        tolerance=value.tolerance if value else None,
        found=found.number if found else None,
        n=found.n if found else 0,
        left_out=found.left_out if found else 0,
        as_published=found.as_published if found else None,
        interval=found.interval if found else None,
        note=found.note if found else why_missing(exhibit, row, column),
    )


def _verdict(value: Value | None, found: Found | None) -> Verdict:
    if found is None:
        return Verdict.NOT_IN_DATA
    if value is None:
        return Verdict.OURS_ALONE
    return Verdict.FITS if value.fits(found.number) else Verdict.DIFFERS
