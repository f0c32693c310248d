"""One session's screen, in full: windows, both voices, and what else changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from contextecho.counting import counted
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.scoring import Screen, Shift, Stratum, Voice, Window

_BARS = "▁▂▃▄▅▆▇█"
# Feature -> column head, and how its value in the shown unit is written.
COLUMNS = {
    "log_length": ("chars", "{:.0f}"),
    "hedge": ("hedges", "{:.1f}"),
    "experiential": ("exper.", "{:.1f}"),
    "commitment": ("commits", "{:.2f}"),
    "em_dashes": ("dashes", "{:.2f}"),
    "breaks": ("breaks", "{:.2f}"),
}
_HUNDREDS = 100  # of characters in 10,000: matches are counted per hundred, which are few
_LEGEND = (
    "chars: characters a text, geometric mean. hedges, exper.: matches per 10,000 characters.",
    "commits: share of texts. dashes, breaks: number a text.",
)


def lines_of(screen: Screen) -> Iterator[str]:
    """The lines that show one screen."""
    yield one_line(screen.path)
    yield f"  {_counts(screen)}"
    yield f"  models: {one_line(', '.join(screen.models)) or 'not recorded'}"
    lacks = lacking(screen)
    yield f"  {screen.label}: {screen.outlook}"
    if lacks:
        yield f"  {lacks}"
    for voice, texts in screen.texts.items():
        if texts:
            yield ""
            yield from _voice(screen, voice, texts)
    yield ""
    yield from (f"  {line}" for line in _LEGEND)
    yield ""
    if len(screen.strata) > 1:
        yield "  Texts are compared only under equal conditions:"
        yield from _strata(screen.strata)
        yield ""
    yield "  What else changed, and may explain what is seen here:"
    for line in screen.confounders:
        yield f"    - {one_line(line)}"


def lacking(screen: Screen) -> str:
    """What a session that is too short to tell is short of; an empty string for others."""
    from contextecho.scoring import lacking_texts

    most = (texts for stratum in screen.strata for texts in stratum.texts.values())
    return lacking_texts(max(most, default=0))


def _strata(strata: Sequence[Stratum]) -> Iterator[str]:
    """What sets each apart, how many texts it has, and whether these are enough."""
    from contextecho.sessions import tell_apart

    words = tell_apart(stratum.conditions for stratum in strata)
    for stratum in strata:
        texts = ", ".join(
            f"{n} {voice}{'' if voice in stratum.compared else ' (too few)'}"
            for voice, n in stratum.texts.items()
            if n
        )
        yield f"    - {words[stratum.conditions]}: {texts}"


def _counts(screen: Screen) -> str:
    counts = {
        "prompt": screen.prompts,
        "agent step": screen.steps,
        "row turn": screen.row_turns,
        "compaction": screen.compactions,
    }
    if screen.microcompactions:
        counts["microcompaction"] = screen.microcompactions
    return " · ".join(counted(n, noun) for noun, n in counts.items())


def _voice(screen: Screen, voice: Voice, texts: int) -> Iterator[str]:
    names = {"final": "Final answers", "commentary": "Commentary between tool calls"}
    yield f"  {names[voice]}: {counted(texts, 'text')}"
    heads = "".join(f"{head:>9}" for head, _ in COLUMNS.values())
    yield f"    {'agent steps':<13}{'texts':>6}{heads}"
    segment = screen.windows[0].segment
    for window in screen.windows:
        if window.segment != segment:
            segment = window.segment
            yield f"    {' compaction ':-^{19 + 9 * len(COLUMNS)}}"
        yield f"    {_row(window, voice)}"
    bars = {head: _bars(screen.windows, voice, f) for f, (head, _) in COLUMNS.items()}
    if any(bars.values()):
        yield "    over the windows: " + "  ".join(f"{h} {b}" for h, b in bars.items() if b)
    yield from (f"    {line}" for line in _ends(screen.shifts, voice))


def _row(window: Window, voice: Voice) -> str:
    sample = window.voices[voice]
    steps = f"{window.first_step}-{window.last_step}"
    means = "".join(f"{_shown(feature, sample.means):>9}" for feature in COLUMNS)
    return f"{steps:<13}{sample.texts:>6}{means}".rstrip()


def _shown(feature: str, means: object) -> str:
    return "" if means is None else _written(feature, getattr(means, feature))


def _written(feature: str, mean: float) -> str:
    return COLUMNS[feature][1].format(_in_shown_unit(feature, mean))


def _in_shown_unit(feature: str, mean: float) -> float:
    if feature == "log_length":
        return float(10.0**mean)
    return mean * _HUNDREDS if feature in ("hedge", "experiential") else mean


def _bars(windows: Sequence[Window], voice: Voice, feature: str) -> str:
    """One block a window, from the smallest mean to the largest.

    None where the largest difference would be written as nothing.
    """
    means = [w.voices[voice].means for w in windows]
    values = [None if m is None else getattr(m, feature) for m in means]
    known = [v for v in values if v is not None]
    shown = [_in_shown_unit(feature, value) for value in known]
    if float(COLUMNS[feature][1].format(max(shown) - min(shown))) == 0.0:
        return ""
    low, span = min(known), max(known) - min(known)
    return "".join("·" if v is None else _BARS[round((v - low) / span * 7)] for v in values)


def _ends(shifts: Sequence[Shift], voice: Voice) -> Iterator[str]:
    found = [shift for shift in shifts if shift.voice == voice]
    if not found:
        yield "too few texts to compare the first third with the last"
    for shift in found:
        if shift.notable:
            change = (
                f"{_written(shift.feature, shift.early)} to {_written(shift.feature, shift.late)}"
            )
            n = f"{shift.n_early} and {counted(shift.n_late, 'text')}"
            yield f"first third to last third: {COLUMNS[shift.feature][0]} {change} ({n})"
    if found and not any(shift.notable for shift in found):
        yield "first third to last third: nothing stands out"
