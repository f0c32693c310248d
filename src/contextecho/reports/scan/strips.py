"""The figure of a screen: the features of one voice, window by window along the session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextecho.reports.captions import identify
from contextecho.reports.figures import Mark, Rule, Stretch, Strip, Strips
from contextecho.reports.palette import ESTIMATE
from contextecho.reports.scan.readings import (
    FEATURE_READINGS,
    VOICE_NAMES,
    feature_axis,
    written,
)
from contextecho.reports.scan.words import findings, p_of, standing_out
from contextecho.reports.typeset import Quantity, number, whole
from contextecho.scoring import Change, Screen, Shift, Voice, Window, in_shown_unit
from contextecho.sessions import tell_apart

_MOST_NAMED = 12  # changes that a caption spells out


def strips_of(screen: Screen, voice: Voice, id: str, features: Sequence[str]) -> Strips:
    """`features` of `voice`, which has texts, over the windows of `screen`."""
    shifts = {shift.feature: shift for shift in screen.shifts if shift.voice == voice}
    stretches = tuple(_stretch(window, voice) for window in screen.windows)
    rules = tuple(_rules(screen))
    return Strips(
        id=identify(id, voice),
        family="strips",
        title=f"{VOICE_NAMES[voice]} along the session",
        finding=" ".join(findings(screen, voice)),
        caption=_caption(screen, rules),
        provenance={"session": screen.session, "reader": screen.format},
        stretches=stretches,
        strips=tuple(
            _strip(screen, voice, feature, stretches, shifts.get(feature)) for feature in features
        ),
        margin_head=_margin_head(shifts),
        rules=rules,
    )


def notable_features(screen: Screen, voice: Voice) -> tuple[str, ...]:
    """The features that stand out in this voice, in the order of the columns."""
    found = {shift.feature for shift in standing_out(screen, voice)}
    return tuple(feature for feature in FEATURE_READINGS if feature in found)


def _stretch(window: Window, voice: Voice) -> Stretch:
    return Stretch(
        first_step=window.first_step,
        last_step=window.last_step,
        segment=window.segment,
        texts=window.voices[voice].texts,
    )


def _strip(
    screen: Screen,
    voice: Voice,
    feature: str,
    stretches: Sequence[Stretch],
    shift: Shift | None,
) -> Strip:
    reading = FEATURE_READINGS[feature]
    means = [window.voices[voice].means for window in screen.windows]
    values = [None if m is None else in_shown_unit(feature, getattr(m, feature)) for m in means]
    return Strip(
        name=reading.name,
        unit=reading.unit,
        axis=feature_axis(feature, [value for value in values if value is not None]),
        marks=tuple(
            _mark(feature, value, stretch, screen.texts[voice])
            for value, stretch in zip(values, stretches, strict=True)
        ),
        margin=() if shift is None else _margin(shift),
        stands_out=shift is not None and shift.notable,
    )


def _mark(feature: str, value: float | None, stretch: Stretch, texts: int) -> Mark:
    reading = FEATURE_READINGS[feature]
    return Mark(
        series=ESTIMATE,
        name=reading.name,
        label=f"{reading.name}, steps {whole(stretch.first_step)}–{whole(stretch.last_step)}",
        value=value,
        low=None,
        high=None,
        n=stretch.texts,
        planned=texts,
        unit="text",
        quantity=reading.quantity,
    )


def _margin_head(shifts: dict[str, Shift]) -> tuple[str, ...]:
    """What the margins compare, and on how many texts: the same for every feature of a voice."""
    for shift in shifts.values():
        return (
            "first third → last third",
            f"n = {whole(shift.n_early)} and {whole(shift.n_late)} texts",
        )
    return ("too few texts to compare",)


def _margin(shift: Shift) -> tuple[str, ...]:
    early, late = written(shift.feature, shift.early), written(shift.feature, shift.late)
    return (f"{early} → {late}", f"AUC {number(shift.auc, Quantity.CHANCE)}, p {p_of(shift.p)}")


def _rules(screen: Screen) -> Iterator[Rule]:
    """One rule a window in which conditions change, named after all that do in it."""
    changes = list(enumerate(screen.changes, start=1))
    taken = 0
    for i, window in enumerate(screen.windows):
        here = [
            (number, change)
            for number, change in changes[taken:]
            if change.step <= window.last_step
        ]
        if here:
            taken += len(here)
            yield Rule(at=i + _share(here[0][1], window), name=_named([n for n, _ in here]))


def _share(change: Change, window: Window) -> float:
    """How far into its window a change lies, 0 to 1."""
    steps = window.last_step - window.first_step + 1
    return min(max((change.step - window.first_step) / steps, 0.0), 1.0)


def _named(numbers: Sequence[int]) -> str:
    return f"Δ{numbers[0]}" if len(numbers) == 1 else f"Δ{numbers[0]}–Δ{numbers[-1]}"


def _caption(screen: Screen, rules: Sequence[Rule]) -> str:
    said = [
        "Each mark is the mean over the texts of one window. Windows hold about equal numbers of "
        "texts of both voices and stand at equal distances.",
    ]
    if len({window.segment for window in screen.windows}) > 1:
        said.append("Dashed rules are compactions, over which no window reaches.")
    if rules:
        said.append(
            "Dotted rules are changes of conditions, which windows may mix; a comparison of the "
            "first third with the last never does."
        )
        said += [_said(n, change) for n, change in enumerate(screen.changes[:_MOST_NAMED], start=1)]
    more = len(screen.changes) - _MOST_NAMED
    if more > 0:
        said.append(f"{whole(more)} more are not spelt out.")
    return " ".join(said)


def _said(n: int, change: Change) -> str:
    words = tell_apart((change.before, change.after))
    return f"Δ{n}, step {whole(change.step)}: {words[change.before]} to {words[change.after]}."
