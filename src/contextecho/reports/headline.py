"""What a run says, in plain sentences that carry their interval and their n.

A sentence never says more than its interval: one that covers "no difference" is
said to do so, one over two units is left to the tables, and a headline whose negative
controls moved is withheld.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from contextecho.contexts import Arm
from contextecho.counting import counted
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.typeset import Quantity, estimated, number, sentence
from contextecho.reports.view import View
from contextecho.scoring import Contrast, FingerprintMap, GapChange, Guard, Measure

# What rests on less is in the tables, and in no sentence. Two units allow no p below 2/4.
MINIMUM_PAIRS, MINIMUM_UNITS = 5, 3
_TOO_FEW = (
    f"A sentence takes at least {MINIMUM_PAIRS} pairs and {MINIMUM_UNITS} independent units "
    "(positions or, at a single one, its questions): two allow no p below 0.5."
)
_ORDER = (Measure.REGISTER, Measure.FINGERPRINT, Measure.LENGTH, Measure.COMPLIANCE)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One measured difference: the numbers, then what they mean."""

    measure: str
    battery: str
    numbers: str
    meaning: str


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said about one target; nothing where `withheld` says why it may not be."""

    target: str
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]  # what to beware of in these statements, each once
    withheld: tuple[str, ...]


def headlines(view: View) -> tuple[Headline, ...]:
    """One headline a target, the judged measure first."""
    return tuple(_headline(view, target) for target in view.targets)


def _headline(view: View, target: str) -> Headline:
    withheld = tuple(_control(guard) for guard in view.moved_guards(target))
    contrasts = sorted(view.headlined(target), key=lambda c: _ORDER.index(c.measure))
    scored = any(c.pairs for c in contrasts)
    said = contrasts if scored and not withheld else []
    return Headline(
        target=target,
        statements=tuple(_statement(view, c) for c in said),
        notes=tuple(dict.fromkeys((*_unread(view, target), *_cautions(said)))),
        withheld=withheld,
    )


def _statement(view: View, contrast: Contrast) -> Statement:
    apart = contrast.measure is Measure.FINGERPRINT and bool(direction(contrast))
    found = view.fingerprint(contrast.target) if apart else None
    return Statement(
        measure=READINGS[contrast.measure].name,
        battery=contrast.battery,
        numbers=stated(contrast),
        meaning=parting(found) if found else meaning(contrast),
    )


def _cautions(said: list[Contrast]) -> Iterator[str]:
    """What to beware of in the statements."""
    for c in said:
        if too_few(c):
            yield _TOO_FEW
        elif c.estimate is not None and c.note:
            yield sentence(c.note)


def _unread(view: View, target: str) -> Iterator[str]:
    """That a judge was asked in vain."""
    found = [d for d in view.analysis.denominators if d.target == target]
    unread = sum(d.unjudged for d in found)
    if view.analysis.judge and unread and not any(d.judged for d in found):
        yield (
            f"{view.analysis.judge.judge}: of its verdicts on {counted(unread, 'answer')} not one "
            "could be read, so the register is not measured. Ask another judge."
        )


def collected(view: View) -> str:
    """`1,188 of 1,200 planned replies answered`, and why fewer were asked for."""
    answered = sum(d.answered for d in view.analysis.denominators)
    planned = sum(d.planned for d in view.analysis.denominators)
    said = f"{answered:,} of {counted(planned, 'planned reply')} answered"
    shared = answered < planned and Arm.SCRATCH in view.arms and len(view.stations) > 1
    return f"{said} (scratch is asked once and counts at every position)" if shared else said


def controls(view: View) -> tuple[str, ...]:
    """One sentence a guard: what the negative controls did."""
    return tuple(f"{guard.target}, {_control(guard)}" for guard in view.analysis.guards)


def _control(guard: Guard) -> str:
    # On a negative control, to comply is to give the right answer.
    name = READINGS[guard.measure].name
    what = "right answers" if guard.measure is Measure.COMPLIANCE else name
    measured = guard.contrast is not None and guard.contrast.estimate is not None
    evidence = f" ({numbers(guard.contrast)})" if measured and guard.contrast else ""
    return f"{what}: {guard.note}{evidence}"


def difference(contrast: Contrast) -> str:
    """`control − session`, or `control ÷ session` where the contrast is a ratio."""
    ratio = READINGS[contrast.measure].contrast is Quantity.RATIO
    sign = "÷" if ratio else "−"
    return f"{series_name(contrast.minus_from)} {sign} {series_name(contrast.minus)}"


def numbers(contrast: Contrast) -> str:
    """`control − session = 0.42 [0.11, 0.73], 60 pairs in 12 clusters`."""
    quantity = READINGS[contrast.measure].contrast
    text = estimated(contrast.estimate, contrast.interval, quantity)
    pairs = counted(contrast.pairs, "pair")
    if contrast.pairs != contrast.planned_pairs:
        pairs = f"{contrast.pairs:,} of {counted(contrast.planned_pairs, 'pair')}"
    return f"{difference(contrast)} = {text}, {pairs} in {counted(contrast.clusters, 'cluster')}"


def too_few(contrast: Contrast | GapChange) -> bool:
    """Whether there is a number that rests on less than a sentence may."""
    few = contrast.pairs < MINIMUM_PAIRS or contrast.units < MINIMUM_UNITS
    return contrast.estimate is not None and few


def stated(contrast: Contrast) -> str:
    """The numbers as a sentence may say them: those of too few are left to the tables."""
    if too_few(contrast):
        where = counted(contrast.clusters, "cluster")
        return f"n too small to state: {counted(contrast.pairs, 'pair')} in {where}"
    return numbers(contrast)


def meaning(contrast: Contrast) -> str:
    """What the interval allows to say, and no more."""
    if contrast.estimate is None:
        return sentence(f"no number: {contrast.note or 'the reason was not recorded'}")
    if too_few(contrast):
        return f"{difference(contrast)} stands in the table of differences."
    reading = READINGS[contrast.measure]
    sign = direction(contrast)
    if sign is None:
        return "Too little was collected for an interval, so nothing follows from this number."
    if sign == 0:
        neutral = "1" if reading.contrast is Quantity.RATIO else "0"
        return (
            f"The interval covers {neutral}: a difference is not shown, and neither is its absence."
        )
    return (
        f"Replies in the {series_name(contrast.minus_from)} arm "
        f"{reading.more if sign > 0 else reading.less} than in the "
        f"{series_name(contrast.minus)} arm."
    )


def parting(found: FingerprintMap) -> str:
    """How well the fingerprint tells the arms apart, beside what chance would show.

    The sign of a fingerprint contrast says nothing, because PC1 is turned.
    """
    if found.auc is None:
        why = found.auc_note or "the reason was not recorded"
        return f"How far the arms part could not be computed: {why}."
    nothing = "0.5 is no better than a coin"
    if found.auc_by_chance is not None:
        by_chance = number(found.auc_by_chance, Quantity.CHANCE)
        nothing = f"arms that do not differ would show {by_chance}"
    text = estimated(found.auc, found.auc_interval, Quantity.CHANCE)
    return f"PC1 tells a session reply from a control reply with AUC {text} ({nothing})."


def direction(contrast: Contrast) -> int | None:
    """+1 or -1 where the interval excludes "no difference", 0 where it covers it.

    None where there is no estimate, no interval or too few pairs or units.
    """
    neutral = READINGS[contrast.measure].contrast.neutral
    if contrast.estimate is None or contrast.interval is None or neutral is None:
        return None
    if too_few(contrast):
        return None
    if contrast.interval.low > neutral:
        return 1
    return -1 if contrast.interval.high < neutral else 0
