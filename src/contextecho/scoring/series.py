"""Runs of one study together: its levels, its sessions, and how its contrasts change.

The one thing to know: each run keeps its own analysis; what is new here is what only all
of them can say. Holm's families reach over all runs, the change from the first level to each
other one has an interval of its own, and over several sessions the sessions are the clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from contextecho.errors import UsageError
from contextecho.scoring.analysis import analyse_scored
from contextecho.scoring.changes import BETWEEN_RUNS, change_between, with_holm
from contextecho.scoring.contrasts import (
    Arms,
    adjusted,
    arms_of,
    by_position,
    by_session,
    contrast,
)
from contextecho.scoring.heterogeneity import spreads_of
from contextecho.scoring.model import (
    OVERALL,
    Contrast,
    GapChange,
    Measure,
    RunAnalysis,
    SessionSpread,
)
from contextecho.scoring.planned import Planned
from contextecho.scoring.scores import ScoredCell, Slice, by_slice
from contextecho.scoring.verdicts import judge_sets
from contextecho.store import RunInfo, Store
from contextecho.studies import ContrastSpec, Level, Study

POOLED = "sessions"  # the scope and family of a contrast over several sessions


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a series."""

    level: Level | None
    session: str
    analysis: RunAnalysis
    contrasts: tuple[Contrast, ...]  # over the whole run, Holm over the whole series

    @property
    def name(self) -> str:
        """What sets it apart from the others where only levels or only sessions do."""
        return self.level.id if self.level else self.session


class SeriesAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the runs of a study say together."""

    study: Study  # of the first part; its level and what that chose are the part's own
    parts: tuple[Part, ...]  # in the order of their collection
    pooled: tuple[tuple[str | None, Contrast], ...]  # by level, over several sessions
    spreads: tuple[SessionSpread, ...]  # of the first contrast, over several sessions
    changes: tuple[GapChange, ...]  # of the first contrast, from the first level of a group

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions, each once."""
        return tuple(dict.fromkeys(part.session for part in self.parts))


def find_series(store: Store, run: RunInfo) -> tuple[RunInfo, ...]:
    """The runs of the same study with the same targets: of each level and session the newest.

    In the order in which they were begun; `run` is always among them.
    """
    study = run.read_plan(Planned).study
    newest: dict[tuple[str | None, str], RunInfo] = {}
    for other in (run, *store.runs()):
        if (other.study, other.targets) != (run.study, run.targets):
            continue
        its = other.read_plan(Planned).study
        if its.version == study.version:
            level = its.level.id if its.level else None
            newest.setdefault((level, other.session), other)
    return tuple(sorted(newest.values(), key=lambda each: (each.created_at, each.id)))


def analyse_series(
    store: Store, runs: Sequence[RunInfo], *, judge: str | None = None
) -> SeriesAnalysis:
    """What `runs` (`find_series`) say together.

    `judge` is used where it has read a run. Raises `UsageError` when it has read none of them.
    """
    studies = [run.read_plan(Planned).study for run in runs]
    judges = _judges(store, runs, judge)
    scored = [analyse_scored(store, run, judge=its) for run, its in zip(runs, judges, strict=True)]
    analyses = [analysis for analysis, _ in scored]
    cells = [_asked(each, study) for (_, each), study in zip(scored, studies, strict=True)]
    corrected = _over_all(analyses)
    parts = tuple(
        Part(level=study.level, session=run.session, analysis=analysis, contrasts=contrasts)
        for run, study, analysis, contrasts in zip(runs, studies, analyses, corrected, strict=True)
    )
    together = _by_level(parts, cells)
    several = len({part.session for part in parts}) > 1
    measures = _measures(analyses)
    return SeriesAnalysis(
        study=studies[0],
        parts=parts,
        pooled=_pooled(studies[0], together, measures) if several else (),
        spreads=tuple(_spreads(studies[0], together, measures)) if several else (),
        changes=_changes(studies[0], parts, together, measures, several=several),
    )


def _judges(store: Store, runs: Sequence[RunInfo], judge: str | None) -> list[str | None]:
    """Whose verdicts to use of each run: the judge that is named, or nobody's."""
    if judge is None:
        return [None] * len(runs)
    read = [judge in {s.judge for s in judge_sets(store.verdicts(run.id))} for run in runs]
    if not any(read):
        raise UsageError(f"no verdicts of judge {judge!r} on these runs")
    return [judge if has_read else None for has_read in read]


def _asked(scored: Sequence[ScoredCell], study: Study) -> list[ScoredCell]:
    """The cells of a run that its contrasts are about."""
    return [c for c in scored if c.cell.battery != study.negative_controls]


def _measures(analyses: Sequence[RunAnalysis]) -> tuple[Measure, ...]:
    seen = {c.measure for analysis in analyses for c in analysis.contrasts}
    return tuple(measure for measure in BETWEEN_RUNS if measure in seen)


def _over_all(analyses: Sequence[RunAnalysis]) -> list[tuple[Contrast, ...]]:
    """Each run's contrasts over the whole run, with Holm's families over all runs."""
    whole = [[c for c in analysis.contrasts if c.scope == OVERALL] for analysis in analyses]
    corrected = iter(adjusted([c for run in whole for c in run]))
    return [tuple(next(corrected) for _ in run) for run in whole]


def _by_level(
    parts: Sequence[Part], cells: Sequence[Sequence[ScoredCell]]
) -> dict[str | None, list[ScoredCell]]:
    """The cells of all sessions at each level."""
    together: dict[str | None, list[ScoredCell]] = {}
    for part, its in zip(parts, cells, strict=True):
        together.setdefault(part.level.id if part.level else None, []).extend(its)
    return together


def _pooled(
    study: Study,
    together: Mapping[str | None, Sequence[ScoredCell]],
    measures: Sequence[Measure],
) -> tuple[tuple[str | None, Contrast], ...]:
    """Each contrast over all sessions, which are its clusters."""
    found = [
        (level, contrast(spec, measure, *arms, scope=POOLED, family=POOLED, key_of=by_session))
        for level, cells in together.items()
        for spec in study.contrasts
        for measure, arms in _surfaces(spec, cells, measures)
    ]
    corrected = adjusted([each for _, each in found])
    return tuple((level, each) for (level, _), each in zip(found, corrected, strict=True))


def _spreads(
    study: Study,
    together: Mapping[str | None, Sequence[ScoredCell]],
    measures: Sequence[Measure],
) -> Iterator[SessionSpread]:
    for spec in study.contrasts[:1]:
        for level, cells in together.items():
            yield from spreads_of(_surfaces(spec, cells, measures), level)


def _changes(
    study: Study,
    parts: Sequence[Part],
    together: Mapping[str | None, Sequence[ScoredCell]],
    measures: Sequence[Measure],
    *,
    several: bool,
) -> tuple[GapChange, ...]:
    """The first contrast at each level against the first level of its group."""
    levels = {part.level.id: part.level for part in parts if part.level}
    first: dict[str | None, Level] = {}
    for level in levels.values():
        first.setdefault(level.group, level)
    key_of = by_session if several else by_position
    found: list[GapChange] = []
    for level in levels.values():
        begin = first[level.group]
        if level is begin or not study.contrasts:
            continue
        spec = study.contrasts[0]
        before = dict(_places(spec, together[begin.id], measures))
        for place, arms in _places(spec, together[level.id], measures):
            if place in before:
                sides = (begin.id, before[place]), (level.id, arms)
                found.append(change_between(spec, place[2], *sides, key_of=key_of))
    return with_holm(found)


def _places(
    spec: ContrastSpec, cells: Sequence[ScoredCell], measures: Sequence[Measure]
) -> Iterator[tuple[tuple[str, str, Measure], Arms]]:
    """The arms of a contrast by target, battery and measure."""
    for measure, arms in _surfaces(spec, cells, measures):
        cell = arms[0][0].cell
        yield (cell.target, cell.battery, measure), arms


def _surfaces(
    spec: ContrastSpec, cells: Sequence[ScoredCell], measures: Sequence[Measure]
) -> Iterator[tuple[Measure, Arms]]:
    """The arms of a contrast on each target and battery, for each measure that they have."""
    slices: dict[Slice, list[ScoredCell]] = by_slice(cells)
    for target, battery in dict.fromkeys((s.target, s.battery) for s in slices):
        for measure in measures:
            if arms := arms_of(spec, slices, target, battery, measure):
                yield measure, arms
