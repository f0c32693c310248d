"""What was read of a release, in numbers: by experiment, and by flag with first examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from contextecho.release.flags import Flag
from contextecho.release.layout import Stated, load_layout
from contextecho.release.tree import Tree
from contextecho.store import Finding

_EXAMPLES = 3


class ExperimentCount(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of one experiment."""

    experiment: str
    cells: int
    scores: int  # register scores and compliances that may be used
    void: int  # those that may not


class FlagCount(msgspec.Struct, frozen=True, kw_only=True):
    """The files with one flag."""

    flag: Flag
    meaning: str
    voids: bool  # whether their scores have no value
    files: int
    examples: tuple[Finding, ...]  # the first of them


class ReleaseSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A release in numbers."""

    id: str
    place: str
    files: int
    copies: int
    cells: int
    stated: tuple[Stated, ...]  # how many cells others say there are
    experiments: tuple[ExperimentCount, ...]
    flags: tuple[FlagCount, ...]  # those that were met, the gravest first


def summarise(tree: Tree) -> ReleaseSummary:
    """Count what is in a tree."""
    return ReleaseSummary(
        id=tree.id,
        place=tree.place,
        files=tree.files,
        copies=tree.copies,
        cells=len(tree.cells),
        stated=load_layout().stated,
        experiments=_experiments(tree),
        flags=_flags(tree.findings),
    )


def _experiments(tree: Tree) -> tuple[ExperimentCount, ...]:
    cells = Counter(cell.experiment for cell in tree.cells)
    verdicts = Counter(
        (cell.experiment, verdict.value is None) for cell in tree.cells for verdict in cell.verdicts
    )
    return tuple(
        ExperimentCount(
            experiment=experiment,
            cells=count,
            scores=verdicts[experiment, False],
            void=verdicts[experiment, True],
        )
        for experiment, count in sorted(cells.items())
    )


def _flags(findings: Sequence[Finding]) -> tuple[FlagCount, ...]:
    by_flag: dict[str, dict[str, Finding]] = {}
    for finding in findings:
        by_flag.setdefault(finding.flag, {}).setdefault(finding.path, finding)
    return tuple(
        FlagCount(
            flag=flag,
            meaning=flag.meaning,
            voids=flag.voids,
            files=len(found),
            examples=tuple(found.values())[:_EXAMPLES],
        )
        for flag in Flag
        if (found := by_flag.get(flag.value))
    )
