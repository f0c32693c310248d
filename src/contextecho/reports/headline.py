"""What a run says, in plain sentences that carry their interval and their n.

A sentence never says more than its interval: one that covers "no difference" is
said to do so, and a headline whose negative controls moved is withheld.
"""

from __future__ import annotations

import msgspec

from contextecho.counting import counted
from contextecho.reports.measures import READINGS
from contextecho.reports.palette import series_name
from contextecho.reports.typeset import Quantity, estimate, sentence
from contextecho.reports.view import View
from contextecho.scoring import Contrast, Guard, Measure

MINIMUM_PAIRS = 5  # fewer are in the tables, and in no sentence
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
    contrasts = [
        contrast
        for measure in _ORDER
        for battery in view.surfaces(measure)
        if (contrast := view.headline(target, measure, battery)) is not None
    ]
    said = [] if withheld else contrasts
    notes = dict.fromkeys(
        sentence(c.note) for c in said if c.estimate is not None and c.note and not too_few(c)
    )
    return Headline(
        target=target,
        statements=tuple(_statement(c) for c in said),
        notes=tuple(notes),
        withheld=withheld,
    )


def _statement(contrast: Contrast) -> Statement:
    return Statement(
        measure=READINGS[contrast.measure].name,
        battery=contrast.battery,
        numbers=stated(contrast),
        meaning=meaning(contrast),
    )


def collected(view: View) -> str:
    """`1,188 of 1,200 planned replies answered`."""
    answered = sum(d.answered for d in view.analysis.denominators)
    planned = sum(d.planned for d in view.analysis.denominators)
    return f"{answered:,} of {counted(planned, 'planned reply')} answered"


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
    interval = contrast.interval
    text = estimate(
        contrast.estimate,
        interval.low if interval else None,
        interval.high if interval else None,
        READINGS[contrast.measure].contrast,
    )
    pairs = counted(contrast.pairs, "pair")
    if contrast.pairs != contrast.planned_pairs:
        pairs = f"{contrast.pairs:,} of {counted(contrast.planned_pairs, 'pair')}"
    return f"{difference(contrast)} = {text}, {pairs} in {counted(contrast.clusters, 'cluster')}"


def too_few(contrast: Contrast) -> bool:
    """Whether there is a number, of fewer pairs than a sentence may be made of."""
    return contrast.estimate is not None and contrast.pairs < MINIMUM_PAIRS


def stated(contrast: Contrast) -> str:
    """The numbers as a sentence may say them: those of a few pairs are left to the tables."""
    if too_few(contrast):
        return f"n too small to state: {counted(contrast.pairs, 'pair')}"
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


def direction(contrast: Contrast) -> int | None:
    """+1 or -1 where the interval excludes "no difference", 0 where it covers it.

    None where there is no estimate, no interval or too few pairs.
    """
    neutral = READINGS[contrast.measure].contrast.neutral
    if contrast.estimate is None or contrast.interval is None or neutral is None:
        return None
    if too_few(contrast):
        return None
    if contrast.interval.low > neutral:
        return 1
    return -1 if contrast.interval.high < neutral else 0
