"""One session's screen, in full: windows, both voices, and what else changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from contextecho.cli.sessions.tables import CUT_SHORT
from contextecho.counting import counted
from contextecho.scoring import FEATURE_HEADS, in_shown_unit
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.scoring import Screen, Shift, Stratum, Voice, Window

_BARS = "▁▂▃▄▅▆▇█"
# How the mean of each feature is written in the shown unit.
_FORMATS = {
    "log_length": "{:.0f}",
    "hedge": "{:.1f}",
    "experiential": "{:.1f}",
    "commitment": "{:.2f}",
    "em_dashes": "{:.2f}",
    "breaks": "{:.2f}",
}
_LEGEND = (
    "chars: characters a text, geometric mean. hedges, exper.: matches per 10,000 characters.",
    "commits: share of texts. dashes, breaks: number a text.",
)


def lines_of(screen: Screen) -> Iterator[str]:
    """The lines that show one screen."""
    from contextecho.scoring import lacking, repeated

    yield one_line(screen.path)
    yield f"  {_counts(screen)}"
    if screen.inherited_prompts:
        yield f"  {one_line(repeated(screen))}"
    yield f"  models: {one_line(', '.join(screen.models)) or 'not recorded'}"
    lacks = lacking(screen)
    yield f"  {screen.label}: {screen.outlook}"
    if lacks:
        yield f"  {lacks}"
    if screen.is_cut:
        yield f"  {CUT_SHORT}"
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
    heads = "".join(f"{head:>9}" for head in FEATURE_HEADS.values())
    yield f"    {'agent steps':<13}{'texts':>6}{heads}"
    segment = screen.windows[0].segment
    for window in screen.windows:
        if window.segment != segment:
            segment = window.segment
            yield f"    {' compaction ':-^{19 + 9 * len(FEATURE_HEADS)}}"
        yield f"    {_row(window, voice)}"
    bars = {head: _bars(screen.windows, voice, f) for f, head in FEATURE_HEADS.items()}
    if any(bars.values()):
        yield "    over the windows: " + "  ".join(f"{h} {b}" for h, b in bars.items() if b)
    yield from (f"    {line}" for line in _ends(screen.shifts, voice))


def _row(window: Window, voice: Voice) -> str:
    sample = window.voices[voice]
    steps = f"{window.first_step}-{window.last_step}"
    means = "".join(f"{_shown(feature, sample.means):>9}" for feature in FEATURE_HEADS)
    return f"{steps:<13}{sample.texts:>6}{means}".rstrip()


def _shown(feature: str, means: object) -> str:
    return "" if means is None else _written(feature, getattr(means, feature))


def _written(feature: str, mean: float) -> str:
    return _FORMATS[feature].format(in_shown_unit(feature, mean))


def _bars(windows: Sequence[Window], voice: Voice, feature: str) -> str:
    """One block a window, from the smallest mean to the largest.

    None where the largest difference would be written as nothing.
    """
    means = [w.voices[voice].means for w in windows]
    values = [None if m is None else getattr(m, feature) for m in means]
    known = [v for v in values if v is not None]
    shown = [in_shown_unit(feature, value) for value in known]
    if float(_FORMATS[feature].format(max(shown) - min(shown))) == 0.0:
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
            yield f"first third to last third: {FEATURE_HEADS[shift.feature]} {change} ({n})"
    if found and not any(shift.notable for shift in found):
        yield "first third to last third: nothing stands out"
