"""A run's analysis: from stored replies and verdicts to everything a report shows.

The one thing to know: the deterministic scores are cheap and so are never stored;
they are computed here from the replies, under the rules of this version. Only a
judge's verdicts come from the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from contextecho.contexts import Arm
from contextecho.errors import UsageError
from contextecho.models import notes_of
from contextecho.scoring.billing import billing_of, mismatches
from contextecho.scoring.changes import crossings_of
from contextecho.scoring.contrasts import contrasts_of
from contextecho.scoring.examples import choose_examples
from contextecho.scoring.fingerprint import MINIMUM_REPLIES, map_fingerprints
from contextecho.scoring.guards import guards_of
from contextecho.scoring.model import FingerprintMap, GapChange, Guard, Measure, RunAnalysis
from contextecho.scoring.planned import Planned
from contextecho.scoring.registration import registration_of
from contextecho.scoring.scores import Outcome, ScoredCell, Slice, by_slice, score_cells
from contextecho.scoring.summaries import arm_means_of, denominators_of
from contextecho.scoring.verdicts import JudgeSet, agreements, judge_sets, mirror
from contextecho.store import RunInfo, Store


def score_run(store: Store, run: RunInfo, *, judge: str | None = None) -> tuple[ScoredCell, ...]:
    """Every cell of a run with its scores, in plan order; `judge` as in `analyse_run`."""
    return _score(store, run, _choose(judge_sets(store.verdicts(run.id)), judge))[0]


def analyse_run(store: Store, run: RunInfo, *, judge: str | None = None) -> RunAnalysis:
    """Everything a report shows about a run, whatever part of it is collected.

    `judge` names whose verdicts to use; by default those of the judge with the most
    valid ones. Raises `UsageError` when that judge has read nothing of this run.
    """
    return analyse_scored(store, run, judge=judge)[0]


def analyse_scored(
    store: Store, run: RunInfo, *, judge: str | None = None
) -> tuple[RunAnalysis, tuple[ScoredCell, ...]]:
    """The analysis of a run as `analyse_run` makes it, and the scored cells that it is made of."""
    sets = judge_sets(store.verdicts(run.id))
    used = _choose(sets, judge)
    cells, fingerprints = _score(store, run, used)
    planned = run.read_plan(Planned)
    measures = [m for m in Measure if used or m is not Measure.REGISTER]
    slices = by_slice(cells)
    asked = {w: c for w, c in slices.items() if w.battery != planned.study.negative_controls}
    billing = billing_of(run.targets, store.replies(run.id))
    guards = guards_of(run.targets, planned.study.negative_controls, slices, measures)
    analysis = RunAnalysis(
        run=run,
        registration=registration_of(store, run),
        denominators=denominators_of(slices),
        arm_means=arm_means_of(slices, measures),
        contrasts=contrasts_of(planned.study.contrasts, asked, measures, planned.conditions),
        crossings=_crossings(planned, asked, measures),
        fingerprints=fingerprints,
        guards=guards,
        examples=choose_examples(planned, cells, measures),
        judge=mirror(used, store) if used else None,
        agreements=agreements(sets, {c.key: c.cell.battery for c in cells}),
        billing=billing,
        headline_withheld=tuple(_withheld(guards)),
        notes=(
            *_notes(run, cells, fingerprints, sets, used),
            *(sentence for account in billing for sentence in mismatches(account)),
        ),
    )
    return analysis, cells


def _crossings(
    planned: Planned, asked: Mapping[Slice, Sequence[ScoredCell]], measures: Sequence[Measure]
) -> tuple[GapChange, ...]:
    """Across compactions, of the contrast that the study is about."""
    if not planned.study.contrasts:
        return ()
    labels = [position.label for position in planned.positions]
    return crossings_of(planned.study.contrasts[0], asked, measures, labels)


def _choose(sets: Sequence[JudgeSet], judge: str | None) -> JudgeSet | None:
    named = [s for s in sets if judge in (None, s.judge)]
    if judge is not None and not named:
        known = ", ".join(dict.fromkeys(s.judge for s in sets)) or "none"
        raise UsageError(f"no verdicts of judge {judge!r} on this run", todo=f"judges: {known}")
    return named[0] if named else None


def _score(
    store: Store, run: RunInfo, used: JudgeSet | None
) -> tuple[tuple[ScoredCell, ...], tuple[FingerprintMap, ...]]:
    """All cells with their scores, and each target's fingerprint map."""
    cells = score_cells(run.read_plan(Planned), store.replies(run.id), used.first if used else {})
    by_target: dict[str, list[ScoredCell]] = {target: [] for target in run.targets}
    for scored in cells:
        by_target[scored.cell.target].append(scored)
    mapped = {target: map_fingerprints(group) for target, group in by_target.items()}
    placed = {target: iter(group) for target, (group, _) in mapped.items()}
    in_order = tuple(next(placed[scored.cell.target]) for scored in cells)
    return in_order, tuple(found for _, found in mapped.values() if found)


def _withheld(guards: Sequence[Guard]) -> Iterator[str]:
    for target, group in groupby(guards, key=lambda guard: guard.target):
        moved = [_NAMES[g.measure] for g in group if g.moved]
        if moved:
            yield (
                f"{target}: no headline, because the negative controls moved between control and "
                f"session ({', '.join(moved)}); whatever moved them may have moved the probes too"
            )


_NAMES = {Measure.REGISTER: "register", Measure.COMPLIANCE: "right answers"}


def _notes(
    run: RunInfo,
    cells: Sequence[ScoredCell],
    fingerprints: Sequence[FingerprintMap],
    sets: Sequence[JudgeSet],
    used: JudgeSet | None,
) -> Iterator[str]:
    if used is None:
        yield "no judge has read this run: register is not measured, the judge-free measures are"
    for other in sets:
        if other is not used:
            yield (
                f"verdicts of {other.judge} ({other.version}) are stored; here they only show how "
                "far the judges agree"
            )
    if used and used.self_judged:
        yield f"{used.judge} judged replies of its own model: self-judged, not independent"
    for target in run.targets:
        yield from (f"{target}: {note}" for note in notes_of(target))
    yield from _truncation(cells)
    for target in run.targets:
        if all(found.target != target for found in fingerprints):
            yield f"{target}: fewer than {MINIMUM_REPLIES} replies to probes, no fingerprint map"
    arms = {scored.cell.arm for scored in cells}
    if Arm.SESSION_ANCHOR in arms and Arm.CONTROL_ANCHOR not in arms:
        yield (
            "an anchor says what the rubric scores as the assistant register, so it raises the "
            "register of any arm; what it does where nothing drifted is not known without the "
            "control+anchor arm"
        )


def _truncation(cells: Sequence[ScoredCell]) -> Iterator[str]:
    """Long replies that were cut have no length, so an arm with more of them looks shorter."""
    cut = Counter(
        (scored.cell.target, scored.cell.arm)
        for scored in cells
        if scored.outcome is Outcome.TRUNCATED
    )
    for target in dict.fromkeys(target for target, _ in cut):
        arms = ", ".join(f"{arm.value} {cut[target, arm]}" for arm in Arm if cut[target, arm])
        yield (
            f"{target}: replies cut at the output budget are not scored ({arms}); how long they "
            "would be is not known, so an arm with more of them looks shorter than it is"
        )
