"""Differences between arms on paired cells: the gap of Definition 1 and its kin.

The one thing to know: a contrast is `minus_from` minus `minus` (for length
`minus_from` over `minus`, of geometric means), on the cells that both arms answered,
paired by position, stimulus, paraphrase and replicate. Where more than a fifth of the
planned pairs is missing there is no estimate, because the missing ones are seldom
missing at random.

Families for Holm's correction are declared here and nowhere else: the headline (the
study's first contrast on the primary measure, over targets and batteries), all other
overall contrasts of a run, all by category, all by conditions, all by position.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from contextecho.contexts import Arm
from contextecho.scoring.model import OVERALL, Contrast, GapChange, Measure
from contextecho.scoring.scores import MEASURES, ScoredCell, Slice
from contextecho.stats import (
    CellKey,
    Interval,
    Pairs,
    drift_gap,
    geometric_ratio,
    holm,
    pair_cells,
    proportion_gap,
    sign_flip_p,
)
from contextecho.studies import ContrastSpec

Arms: TypeAlias = tuple[Sequence[ScoredCell], Sequence[ScoredCell]]  # minus_from, minus
KeyOf: TypeAlias = Callable[[ScoredCell], CellKey]
Tested = TypeVar("Tested", Contrast, GapChange)
_Place: TypeAlias = tuple[str, str]  # session, position

MAXIMUM_MISSING = 0.20  # share of the planned pairs
HEADLINE = "headline"
# The first of these that a run has is its primary measure.
PRIMARY = (Measure.REGISTER, Measure.FINGERPRINT)

_SHARED = (
    "one set of replies stands for every position of an arm without context: "
    "the interval does not hold their own sampling error"
)


def contrasts_of(
    specs: Iterable[ContrastSpec],
    slices: Mapping[Slice, Sequence[ScoredCell]],
    measures: Iterable[Measure],
    conditions: Mapping[str, str],
) -> tuple[Contrast, ...]:
    """Every contrast of every target, battery and measure, adjusted within its family.

    `conditions` says in words under which each position lies.
    """
    specs, wanted = tuple(specs), set(measures)
    primary = next((measure for measure in PRIMARY if measure in wanted), None)
    surfaces = dict.fromkeys((s.target, s.battery) for s in slices)
    found = [
        contrast
        for target, battery in surfaces
        for spec in specs
        for measure in _measures_on(slices, target, battery)
        if measure in wanted
        for contrast in _surface(
            spec,
            target,
            battery,
            measure,
            slices,
            conditions,
            family=HEADLINE if (spec, measure) == (specs[0], primary) else OVERALL,
        )
    ]
    return adjusted(found)


def _measures_on(
    slices: Mapping[Slice, Sequence[ScoredCell]], target: str, battery: str
) -> tuple[Measure, ...]:
    kinds = {
        cell.kind
        for where, cells in slices.items()
        if (where.target, where.battery) == (target, battery)
        for cell in cells
    }
    return tuple(m for m in Measure if any(m in MEASURES[kind] for kind in kinds))


def _surface(
    spec: ContrastSpec,
    target: str,
    battery: str,
    measure: Measure,
    slices: Mapping[Slice, Sequence[ScoredCell]],
    conditions: Mapping[str, str],
    *,
    family: str,
) -> Iterator[Contrast]:
    """One contrast overall (in `family`), by category, conditions and position."""
    arms = arms_of(spec, slices, target, battery, measure)
    if arms is None:
        return
    yield contrast(spec, measure, *arms, scope=OVERALL, family=family)
    categories = dict.fromkeys(c.category for c in arms[0])
    if len(categories) > 1:
        for category in categories:
            parts = ([c for c in arm if c.category == category] for arm in arms)
            yield contrast(spec, measure, *parts, scope=f"category:{category}", family="category")
    under = dict.fromkeys(conditions[p] for c in arms[1] if (p := c.cell.position) in conditions)
    if len(under) > 1:
        for words in under:
            parts = ([c for c in arm if conditions.get(c.cell.position) == words] for arm in arms)
            yield contrast(spec, measure, *parts, scope=f"conditions:{words}", family="conditions")
    positions = dict.fromkeys(c.cell.position for c in arms[1])
    if len(positions) > 1:
        for position in positions:
            parts = ([c for c in arm if c.cell.position == position] for arm in arms)
            yield contrast(spec, measure, *parts, scope=f"position:{position}", family="position")


def arms_of(
    spec: ContrastSpec,
    slices: Mapping[Slice, Sequence[ScoredCell]],
    target: str,
    battery: str,
    measure: Measure,
) -> Arms | None:
    """The cells of both arms that have the measure; None unless both do."""
    minus_from, minus = (
        [c for c in slices.get(Slice(target, arm, battery), ()) if measure in MEASURES[c.kind]]
        for arm in (spec.minus_from, spec.minus)
    )
    return (minus_from, minus) if minus_from and minus else None


def contrast(
    spec: ContrastSpec,
    measure: Measure,
    minus_from: Sequence[ScoredCell],
    minus: Sequence[ScoredCell],
    *,
    scope: str,
    family: str | None,
    key_of: KeyOf | None = None,
) -> Contrast:
    """One contrast of two arms' cells, planned and unscored ones included.

    `key_of` says which cells pair and what their clusters are: by default the same question at
    the same position, which is the cluster.
    Left out are positions at which both arms are shown the same: one reply stands there for both,
    and its difference from itself says nothing. So are positions at which both are shown what
    they were shown at an earlier one: the same replies again are no further evidence.
    """
    alike, again = _alike(minus_from, minus), _again(minus_from, minus)
    told = [[c for c in arm if _place(c) not in alike] for arm in (minus_from, minus)]
    everywhere = not all(told)
    if not everywhere:
        minus_from, minus = ([c for c in arm if _place(c) not in again] for arm in told)
    key_of = key_of or by_position
    pairs = pair_cells(*_columns(minus_from, measure, key_of), *_columns(minus, measure, key_of))
    missing = pairs.dropped / pairs.planned
    some = [*minus_from, *minus][0].cell
    result = Contrast(
        id=spec.id,
        target=some.target,
        battery=some.battery,
        measure=measure,
        scope=scope,
        minus_from=spec.minus_from,
        minus=spec.minus,
        estimate=None,
        interval=None,
        percentile=None,
        p=None,
        p_holm=None,
        family=family,
        pairs=len(pairs),
        planned_pairs=pairs.planned,
        clusters=len(pairs.cluster_names),
        units=0,
        note=None,
    )
    if everywhere:
        return msgspec.structs.replace(result, note="both arms are shown the same")
    if not len(pairs) or missing > MAXIMUM_MISSING:
        why = f"{pairs.dropped} of {pairs.planned} planned pairs lack a score"
        return msgspec.structs.replace(result, note=why)
    estimate, interval, note = _ESTIMATORS[measure](pairs)
    test = sign_flip_p(pairs.differences, pairs.clusters, stimuli=pairs.stimuli)
    shared = _SHARED if Arm.SCRATCH in (spec.minus_from, spec.minus) else None
    left_out = (_same_at(alike) if alike else None, _again_at(again - alike))
    return msgspec.structs.replace(
        result,
        estimate=estimate,
        interval=interval,
        percentile=_percentile(pairs, measure),
        p=test.p,
        units=test.units,
        note="; ".join(filter(None, (note, shared, *left_out))) or None,
    )


def _shown(
    minus_from: Sequence[ScoredCell], minus: Sequence[ScoredCell]
) -> dict[_Place, tuple[str, str]]:
    """What the two arms are shown, by place, in the order of the first arm's cells."""
    prefixes = [{_place(c): c.cell.prefix for c in arm} for arm in (minus_from, minus)]
    there = (place for place in prefixes[0] if place in prefixes[1])
    return {place: (prefixes[0][place], prefixes[1][place]) for place in there}


def _place(scored: ScoredCell) -> _Place:
    return scored.cell.session, scored.cell.position


def _alike(minus_from: Sequence[ScoredCell], minus: Sequence[ScoredCell]) -> set[_Place]:
    """The places at which two arms are shown the same."""
    return {place for place, (a, b) in _shown(minus_from, minus).items() if a == b}


def _again(minus_from: Sequence[ScoredCell], minus: Sequence[ScoredCell]) -> set[_Place]:
    """The places at which two arms are shown what they were shown at an earlier one."""
    shown = _shown(minus_from, minus)
    first = {pair: place for place, pair in reversed(shown.items())}
    return shown.keys() - set(first.values())


def _same_at(alike: set[_Place]) -> str:
    return f"both arms are shown the same at {_named(alike)}: not counted"


def _again_at(again: set[_Place]) -> str | None:
    return f"shown what was shown before at {_named(again)}: counted once" if again else None


def _named(places: set[_Place]) -> str:
    """Positions, with their sessions where there are several."""
    several = len({session for session, _ in places}) > 1
    return ", ".join(
        f"{position} of {session}" if several else position for session, position in sorted(places)
    )


def _columns(
    cells: Sequence[ScoredCell], measure: Measure, key_of: KeyOf
) -> tuple[list[CellKey], list[float | None]]:
    """Pairing keys and numbers of one arm's cells."""
    return [key_of(c) for c in cells], [c.value(measure) for c in cells]


def by_position(scored: ScoredCell) -> CellKey:
    """The same question at the same position; positions are the clusters."""
    c = scored.cell
    return c.position, c.stimulus, c.paraphrase, c.replicate


def by_session(scored: ScoredCell) -> CellKey:
    """The same question at the same position of the same session; sessions are the clusters."""
    c = scored.cell
    return c.session, (c.position, c.stimulus), c.paraphrase, c.replicate


_Estimate = tuple[float | None, Interval | None, str | None]


def difference(pairs: Pairs) -> _Estimate:
    """The mean difference of pairs, its interval, and what to beware of."""
    gap = drift_gap(pairs)
    return gap.estimate, gap.interval, gap.note


def _points(pairs: Pairs) -> _Estimate:
    gap = proportion_gap(pairs)
    return gap.estimate, gap.interval, gap.note


def ratio(pairs: Pairs) -> _Estimate:
    """The same of logarithms, as a ratio of geometric means."""
    found = geometric_ratio(pairs)
    return found.ratio, found.interval, found.note


_ESTIMATORS: Mapping[Measure, Callable[[Pairs], _Estimate]] = {
    Measure.REGISTER: difference,
    Measure.COMPLIANCE: _points,
    Measure.LENGTH: ratio,
    Measure.FINGERPRINT: difference,
}


def _percentile(pairs: Pairs, measure: Measure) -> Interval | None:
    """The paper's kind of interval; it resamples positions, so one position has none."""
    if len(pairs.cluster_names) < 2:
        return None
    interval = drift_gap(pairs, method="percentile").interval
    if interval is None or measure is not Measure.LENGTH:
        return interval
    return msgspec.structs.replace(interval, low=10.0**interval.low, high=10.0**interval.high)


def adjusted(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """The same contrasts with Holm's adjusted p within each family."""
    return adjusted_by(lambda each: each.family, contrasts)


def adjusted_by(
    family_of: Callable[[Tested], Hashable | None], tested: Sequence[Tested]
) -> tuple[Tested, ...]:
    """The same with Holm's adjusted p within each family; of none (None), as they are."""
    families: dict[Hashable, list[int]] = {}
    for i, each in enumerate(tested):
        if (family := family_of(each)) is not None:
            families.setdefault(family, []).append(i)
    result = list(tested)
    for members in families.values():
        for i, p in zip(members, holm([tested[i].p for i in members]), strict=True):
            result[i] = msgspec.structs.replace(tested[i], p_holm=p)
    return tuple(result)
