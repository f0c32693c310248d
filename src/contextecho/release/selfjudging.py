"""Who was its own judge, as far as that can be told.

The one thing to know: a bare `score` does not say who gave it. The runner of some cells had
the target for its judge; for the rest the paper names one judge, which is itself a target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextecho.release.flags import Flag
from contextecho.release.layout import Layout
from contextecho.release.reading import REGISTER
from contextecho.store import Finding, ImportedCell


def self_judged(cells: Sequence[ImportedCell], layout: Layout) -> Iterator[Finding]:
    """A finding for each such cell and judge."""
    for cell in cells:
        for verdict in cell.verdicts:
            judge = verdict.scorer.partition("/")
            if judge[0] != REGISTER or cell.target is None:
                continue
            if why := _why(cell, judge[2], layout):
                yield Finding(flag=Flag.SELF_JUDGED.value, path=cell.path, detail=why)


def _why(cell: ImportedCell, judge: str, layout: Layout) -> str | None:
    if judge:
        own = layout.judges.get(judge, judge).rpartition("/")[2] == cell.target
        return f"{judge} is the target" if own else None
    rule = layout.self_judged
    if (
        cell.experiment == rule.experiment
        and cell.session == rule.session
        and cell.target in rule.targets
        and cell.position not in rule.not_at
        and cell.stimulus not in rule.not_of
    ):
        return "the published runner of this cell had the target for its judge"
    if cell.target == layout.judges["sonnet"]:
        return "no judge is named; the one that the paper names is this target"
    return None
