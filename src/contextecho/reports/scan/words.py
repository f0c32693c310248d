"""A scan in words: what was scanned, what stands out, what was left out, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from contextecho import __version__
from contextecho.counting import counted
from contextecho.moments import utc_minute
from contextecho.own_files import from_home
from contextecho.reports.scan.readings import FEATURE_READINGS, VOICE_NAMES, written
from contextecho.reports.typeset import Quantity, listing, number, p_value, whole
from contextecho.scoring import (
    NOTABLE_AUC,
    SCREEN_TEXTS,
    SIGNIFICANCE,
    SMALLEST_THIRD,
    Outlook,
    Screen,
    Screened,
    Shift,
    Voice,
    next_command,
    repeated,
)
from contextecho.untrusted import shell_word

RULES = (
    "Texts are compared under equal conditions only: the same model, version of the client, "
    "declared mode and personality, and language of the prompts. Under each set of conditions "
    f"the first third of a voice's texts stands against the last, at least {SMALLEST_THIRD} texts "
    "each; a set that is too small is left out. The AUC is the chance that a late text has more "
    "of a feature than an early one; p is van Elteren's rank test, two-sided and adjusted for the "
    f"number of features and voices. A feature stands out where p is below {SIGNIFICANCE:g} and "
    f"the AUC is {NOTABLE_AUC:g} or more, or {1 - NOTABLE_AUC:g} or less. A screen computes no "
    "intervals."
)
REPEATED = (
    "These sessions go on from others, and hold their beginning too. What stands out in one of "
    "them and in the session that it repeats may be one finding, not two."
)
PASSED_OVER = (
    "In folders, files of other kinds are passed over without being counted; a file that was "
    "named, or that looks like a session and is none, is listed."
)


def file_name(screen: Screen) -> str:
    """The name of the session's file, with its member, without the folder."""
    return _folder_and_name(screen)[1]


def _folder_and_name(screen: Screen) -> tuple[str, str]:
    """Where the session's file lies, and its name; a member may hold slashes of its own."""
    file, mark, member = screen.path.rpartition("#")
    if "/" not in member or not PurePath(file).suffix:
        file, mark, member = screen.path, "", ""
    path = Path(file).absolute()
    return from_home(str(path.parent)), f"{path.name}{mark}{member}"


def facts_of(screened: Screened) -> tuple[tuple[str, str], ...]:
    """(name, value) for the head of the page."""
    screens = screened.screens
    return (
        ("Scanned", ", ".join(from_home(str(Path(p).absolute())) for p in screened.places)),
        ("Sessions read", _read(screened)),
        ("By client", _clients(screens)),
        ("Too short to tell", f"{whole(_short(screens))} of {whole(len(screens))}"),
        ("Not read", counted(len(screened.unread), "file")),
        ("Scanned at", utc_minute(screened.at) or "not recorded"),
        ("Version", f"contextecho {__version__}"),
    )


def facts_of_one(screened: Screened, screen: Screen) -> tuple[tuple[str, str], ...]:
    """(name, value) for the head of the page of one session."""
    return (
        ("Session", file_name(screen)),
        ("Read as", " ".join((screen.format, *(f"({v})" for v in _versions(screen))))),
        ("Models", ", ".join(screen.models) or "not recorded"),
        ("Length", ", ".join(counts_of(screen))),
        ("Folder", _folder_and_name(screen)[0]),
        ("Scanned at", utc_minute(screened.at) or "not recorded"),
        ("Version", f"contextecho {__version__}"),
    )


def counts_of(screen: Screen) -> Iterator[str]:
    """How long a session is, by each of its indices."""
    yield counted(screen.prompts, "prompt") + (
        f" ({whole(screen.inherited_prompts)} from an earlier session)"
        if screen.inherited_prompts
        else ""
    )
    yield counted(screen.steps, "agent step")
    yield counted(screen.row_turns, "row turn")
    yield counted(screen.compactions, "compaction")
    if screen.microcompactions:
        yield counted(screen.microcompactions, "microcompaction")


def standing_out(screen: Screen, voice: Voice) -> list[Shift]:
    """The comparisons of this voice that stand out."""
    return [shift for shift in screen.shifts if shift.voice == voice and shift.notable]


def findings(screen: Screen, voice: Voice) -> Iterator[str]:
    """What the comparison of the ends says, in sentences with their n."""
    texts = screen.texts[voice]
    compared = [shift for shift in screen.shifts if shift.voice == voice]
    if not compared:
        yield f"Too few texts under equal conditions to compare ({counted(texts, 'text')})."
    elif not standing_out(screen, voice):
        yield f"First third to last third: nothing stands out ({_n(compared[0], texts)})."
    for shift in standing_out(screen, voice):
        reading = FEATURE_READINGS[shift.feature]
        yield (
            f"First third to last third: {reading.name} {written(shift.feature, shift.early)} → "
            f"{written(shift.feature, shift.late)} {reading.unit} ({_n(shift, texts)}, "
            f"AUC {number(shift.auc, Quantity.CHANCE)}, p {p_of(shift.p)})."
        )


def _n(shift: Shift, texts: int) -> str:
    return f"n = {whole(shift.n_early)} and {whole(shift.n_late)} of {counted(texts, 'text')}"


def p_of(p: float) -> str:
    """`= 0.012` or `< 0.001`, for a sentence."""
    said = p_value(p)
    return said if said.startswith("<") else f"= {said}"


def outcome(screens: Sequence[Screen]) -> str:
    """How many of how many stand out, and what to expect where nothing changes."""
    count = Counter(screen.outlook for screen in screens)
    compared = len(screens) - count[Outlook.SHORT]
    if not compared:
        return (
            f"None of {counted(len(screens), 'session')} is long enough: a comparison needs "
            f"{SCREEN_TEXTS} texts of one voice under equal conditions."
        )
    return (
        f"In {whole(count[Outlook.PROBE])} of {counted(compared, 'session')} that could be "
        "compared something stands out. Of sessions in which nothing changes, up to one in "
        "twenty stands out all the same, and somewhat more where neighbouring texts are alike."
    )


def repeats(screens: Sequence[Screen]) -> Iterator[str]:
    """Which sessions repeat how much of which others, one line each."""
    for screen in screens:
        if screen.inherited_prompts:
            yield f"{from_home(screen.path)}: {repeated(screen, from_home)}."


def not_compared(screen: Screen) -> Iterator[str]:
    """The texts of each voice that enter no comparison."""
    for voice, texts in screen.texts.items():
        compared = sum(s.texts[voice] for s in screen.strata if voice in s.compared)
        if compared < texts:
            yield (
                f"{VOICE_NAMES[voice]}: {whole(texts - compared)} of {counted(texts, 'text')}, "
                f"said where fewer than {SCREEN_TEXTS} stand under equal conditions."
            )


def left_out(screened: Screened) -> Iterator[str]:
    """What is not in the numbers, and why; one sentence each."""
    short = _short(screened.screens)
    if short and len(screened.screens) > 1:
        yield (
            f"{whole(short)} of {counted(len(screened.screens), 'session')}: too short to "
            f"tell. A comparison needs {SCREEN_TEXTS} texts of one voice under equal conditions."
        )
    if screened.unread:
        yield f"{counted(len(screened.unread), 'file')}: not read."
    if cut := [file_name(screen) for screen in screened.screens if screen.is_cut]:
        yield f"{counted(len(cut), 'file')} that ends in the middle: {', '.join(cut)}."
    if screened.refused:
        yield f"{counted(len(screened.refused), 'place')}: refused by the system."
    if screened.sub_agents:
        yield (
            f"{counted(screened.sub_agents, 'session')} of sub-agents: part of those that "
            "started them."
        )
    if screened.copies:
        copies = counted(screened.copies, "copy", "copies")
        yield f"{copies}: the originals are there."
    if screened.earlier:
        yield f"{counted(screened.earlier, 'earlier state')} kept of sessions that went on."
    if screened.continued:
        files = counted(screened.continued, "file")
        yield f"{files} read with others, in which their sessions go on."


def next_line(screens: Sequence[Screen]) -> str:
    """The next command, quoted for a shell that knows `~`."""
    return " ".join(["contextecho", *map(_quoted, next_command(screens))])


def _quoted(word: str) -> str:
    home, slash, rest = from_home(word).partition("/")
    return f"~/{shell_word(rest)}" if home == "~" and slash else shell_word(word)


def _read(screened: Screened) -> str:
    of = len(screened.screens) + len(screened.unread)
    return f"{whole(len(screened.screens))} of {whole(of)} tried"


def _clients(screens: Sequence[Screen]) -> str:
    counts = Counter(screen.format for screen in screens).most_common()
    return ", ".join(f"{name} {whole(n)}" for name, n in counts)


def _short(screens: Sequence[Screen]) -> int:
    return sum(screen.outlook is Outlook.SHORT for screen in screens)


def _versions(screen: Screen) -> Iterator[str]:
    if screen.versions:
        yield f"version {listing(screen.versions)}"
