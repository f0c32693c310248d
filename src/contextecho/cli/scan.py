"""`contextecho scan`: the passive screen. No model is asked, nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import find_path, say_sub_agents, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show
from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.scoring import Screen, Shift, Voice, Window

_BARS = "▁▂▃▄▅▆▇█"
# Feature -> column head, and how its mean is written.
_COLUMNS = {
    "log_length": ("chars", "{:.0f}"),
    "hedge": ("hedges", "{:.2f}"),
    "experiential": ("exper.", "{:.2f}"),
    "commitment": ("commits", "{:.2f}"),
    "em_dashes": ("dashes", "{:.2f}"),
    "breaks": ("breaks", "{:.2f}"),
}
_LEGEND = (
    "chars: characters a text, geometric mean. hedges, exper.: matches per 100 characters.",
    "commits: share of texts. dashes, breaks: number a text.",
)


@click.command()
@click.argument("sessions", metavar="SESSION|DIR...", nargs=-1, required=True)
@json_option
def command(sessions: tuple[str, ...], as_json: bool) -> None:
    """Screen sessions for changes of register: a screen, never a diagnosis.

    Shows how the model's own voice changes within a session: hedges, first-person
    experience, commitments, dashes, paragraph breaks and length, with final answers and
    commentary between tool calls kept apart. Reads files only; asks no model. `latest` is
    the newest session on this machine.
    """
    paths = [find_path(text) for text in sessions]
    screens, unread = _screen_all(paths)
    if not screens:
        raise unread[0][1] if len(unread) == 1 else _nothing(paths, len(unread))
    if as_json:
        print_json(_document(screens, unread))
    elif len(screens) == 1 and not unread:
        _print_lines(_full(screens[0]))
    else:
        _print_lines(_listing(screens, unread))
    if folders := [path for path in paths if path.is_dir()]:
        say_sub_agents(folders)
    _say_next(screens)


def _say_next(screens: Sequence[Screen]) -> None:
    """A plan for the session that has most to show; none for those too short to tell."""
    from contextecho.scoring import Outlook

    long = [screen for screen in screens if screen.outlook is not Outlook.SHORT]
    if not long:
        say_next("sessions", "list")
        return
    best = max(long, key=lambda s: (any(x.notable for x in s.shifts), s.compactions, s.steps))
    say_next("plan", best.path, "--target", "local")


def _screen_all(paths: Sequence[Path]) -> tuple[list[Screen], list[tuple[Path, SessionError]]]:
    """A screen of every session that can be read, and why the others cannot."""
    from contextecho.scoring import screen_session
    from contextecho.sessions import read_session

    screens, unread = [], []
    for path in _files(paths):
        try:
            screens.append(screen_session(read_session(path)))
        except SessionError as error:
            unread.append((path, error))
    return screens, unread


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named, and in folders those that are or should be sessions; each once."""
    from contextecho.sessions import discover

    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            sessions = {session.path for session in discover([path], on_unread=say_unread)}
            found |= dict.fromkeys(sorted(sessions | set(_lines_of_json(path))))
        else:
            found[path] = None
    return iter(found)


def _lines_of_json(folder: Path) -> Iterator[Path]:
    """Every .jsonl file that is not a sub-agent's: what is no session is named, not passed over."""
    from contextecho.sessions import is_sub_agents

    for path in folder.rglob("*.jsonl"):
        if not is_sub_agents(path) and path.is_file():
            yield path


def _nothing(paths: Sequence[Path], unread: int) -> SessionError:
    where = ", ".join(map(str, paths))
    what = (
        f"holds no session that can be read ({unread} files tried)"
        if unread
        else "holds no session"
    )
    return SessionError(what, where=where, todo="contextecho sessions list")


def _document(
    screens: Sequence[Screen], unread: Sequence[tuple[Path, SessionError]]
) -> dict[str, Any]:
    import msgspec

    return {
        "label": screens[0].label,
        "sessions": msgspec.to_builtins(screens),
        "unread": [{"path": str(path), "reason": error.what} for path, error in unread],
    }


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        show(line)


# One session


def _full(screen: Screen) -> Iterator[str]:
    yield one_line(screen.path)
    yield f"  {_counts(screen)}"
    yield f"  models: {one_line(', '.join(screen.models)) or 'not recorded'}"
    yield f"  {screen.label}: {screen.outlook}"
    for voice, texts in screen.texts.items():
        if texts:
            yield ""
            yield from _voice(screen, voice, texts)
    yield ""
    yield from (f"  {line}" for line in _LEGEND)
    yield ""
    yield "  What else changed, and may explain what is seen here:"
    for line in screen.confounders:
        yield f"    - {one_line(line)}"


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
    yield f"  {names[voice]}: {texts} texts"
    heads = "".join(f"{head:>9}" for head, _ in _COLUMNS.values())
    yield f"    {'agent steps':<13}{'texts':>6}{heads}"
    segment = screen.windows[0].segment
    for window in screen.windows:
        if window.segment != segment:
            segment = window.segment
            yield f"    {' compaction ':-^{19 + 9 * len(_COLUMNS)}}"
        yield f"    {_row(window, voice)}"
    bars = {head: _bars(screen.windows, voice, f) for f, (head, _) in _COLUMNS.items()}
    if any(bars.values()):
        yield "    over the windows: " + "  ".join(f"{h} {b}" for h, b in bars.items() if b)
    yield from (f"    {line}" for line in _ends(screen.shifts, voice))


def _row(window: Window, voice: Voice) -> str:
    sample = window.voices[voice]
    steps = f"{window.first_step}-{window.last_step}"
    means = "".join(f"{_shown(feature, sample.means):>9}" for feature in _COLUMNS)
    return f"{steps:<13}{sample.texts:>6}{means}".rstrip()


def _shown(feature: str, means: object) -> str:
    return "" if means is None else _written(feature, getattr(means, feature))


def _written(feature: str, mean: float) -> str:
    return _COLUMNS[feature][1].format(10.0**mean if feature == "log_length" else mean)


def _bars(windows: Sequence[Window], voice: Voice, feature: str) -> str:
    """One block a window, from the smallest mean to the largest; none where all read alike."""
    means = [w.voices[voice].means for w in windows]
    values = [None if m is None else getattr(m, feature) for m in means]
    known = [v for v in values if v is not None]
    if len({_written(feature, value) for value in known}) == 1:
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
            n = f"{shift.n_early} and {shift.n_late} texts"
            yield f"first third to last third: {_COLUMNS[shift.feature][0]} {change} ({n})"
    if found and not any(shift.notable for shift in found):
        yield "first third to last third: nothing stands out"


# Many sessions


def _listing(
    screens: Sequence[Screen], unread: Sequence[tuple[Path, SessionError]]
) -> Iterator[str]:
    for screen in screens:
        yield f"{screen.outlook:<18}  {_counts(screen)}  {one_line(screen.path)}"
    for path, error in unread:
        yield f"{'not read':<18}  {one_line(error.what)}  {one_line(str(path))}"
    yield f"{len(screens)} sessions read, {len(unread)} files not; each line is {screens[0].label}"
