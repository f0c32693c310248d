"""How a contrast changes: across a compaction, or from one level of a study to another.

The one thing to know: a change is estimated on questions that were answered in all four
places (both arms, before and after), as the difference of their paired differences. Two
gaps that are each told from zero need not differ, and two that are not may; so it has an
interval and a p of its own. The fingerprint is left out between runs, because its axis is
fitted to each run anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from contextecho.scoring.contrasts import (
    MAXIMUM_MISSING,
    Arms,
    KeyOf,
    adjusted_by,
    arms_of,
    difference,
    ratio,
)
from contextecho.scoring.model import GapChange, Measure
from contextecho.scoring.scores import ScoredCell, Slice
from contextecho.stats import (
    CellKey,
    pair_cells,
    sign_flip_p,
)
from contextecho.studies import ContrastSpec

BETWEEN_RUNS = (Measure.REGISTER, Measure.COMPLIANCE, Measure.LENGTH)


def crossings_of(
    spec: ContrastSpec,
    slices: Mapping[Slice, Sequence[ScoredCell]],
    measures: Iterable[Measure],
    positions: Sequence[str],
) -> tuple[GapChange, ...]:
    """The change of a contrast across each compaction that has a position on both sides.

    `positions` are labels; those around the n-th compaction end in `pre_Cn` and `post_Cn`.
    Within one crossing the questions are the independent units. Holm's family is all
    crossings of a measure.
    """
    wanted = tuple(measures)
    found = [
        change
        for target, battery in dict.fromkeys((s.target, s.battery) for s in slices)
        for measure in wanted
        for before, after in _sides(positions)
        if (arms := arms_of(spec, slices, target, battery, measure))
        for change in (
            change_between(
                spec,
                measure,
                (before, _at(arms, before)),
                (after, _at(arms, after)),
                key_of=_by_question,
            ),
        )
    ]
    return with_holm(found)


def change_between(
    spec: ContrastSpec,
    measure: Measure,
    before: tuple[str, Arms],
    after: tuple[str, Arms],
    *,
    key_of: KeyOf,
) -> GapChange:
    """The contrast of the arms `after` minus that `before`, each named for a reader.

    `key_of` says what is asked again: cells of the same key answer each other.
    """
    pairs = pair_cells(
        *_differences(after[1], measure, key_of), *_differences(before[1], measure, key_of)
    )
    some = next(cell for arms in (before[1], after[1]) for arm in arms for cell in arm).cell
    result = GapChange(
        id=spec.id,
        target=some.target,
        battery=some.battery,
        measure=measure,
        minus_from=spec.minus_from,
        minus=spec.minus,
        before=before[0],
        after=after[0],
        pairs=len(pairs),
        planned_pairs=pairs.planned,
        clusters=len(pairs.cluster_names),
    )
    if not len(pairs) or pairs.dropped > MAXIMUM_MISSING * pairs.planned:
        why = f"{pairs.dropped} of {pairs.planned} questions lack a score in one of four places"
        return msgspec.structs.replace(result, note=why)
    estimate, interval, note = (ratio if measure is Measure.LENGTH else difference)(pairs)
    test = sign_flip_p(pairs.differences, pairs.clusters, stimuli=pairs.stimuli)
    return msgspec.structs.replace(
        result, estimate=estimate, interval=interval, p=test.p, units=test.units, note=note
    )


def with_holm(changes: Sequence[GapChange]) -> tuple[GapChange, ...]:
    """The same changes with Holm's adjusted p among those of a target, battery and measure."""
    return adjusted_by(lambda each: (each.target, each.battery, each.measure, each.id), changes)


def _sides(positions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(label before, label after) of each compaction with both."""
    named = {label.partition("_")[2]: label for label in positions}
    for name, label in named.items():
        side, _, number = name.partition("_")
        if side == "pre" and f"post_{number}" in named:
            yield label, named[f"post_{number}"]


def _at(arms: Arms, position: str) -> Arms:
    minus_from, minus = ([c for c in arm if c.cell.position == position] for arm in arms)
    return minus_from, minus


def _by_question(scored: ScoredCell) -> CellKey:
    return "", scored.cell.stimulus, scored.cell.paraphrase, scored.cell.replicate


def _differences(
    arms: Arms, measure: Measure, key_of: KeyOf
) -> tuple[list[CellKey], list[float | None]]:
    """Each question's key, and its difference between the arms where both have a number."""
    sides = [{key_of(c): c.value(measure) for c in arm} for arm in arms]
    keys = dict.fromkeys((*sides[0], *sides[1]))
    values = [
        None if (a := sides[0].get(key)) is None or (b := sides[1].get(key)) is None else a - b
        for key in keys
    ]
    return list(keys), values
