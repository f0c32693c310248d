"""What a session is long enough for, told from its counts alone.

The one thing to know: these are the thresholds of the screen and of the position
policies. A session that passes can be measured; whether the measurement will be precise
enough, `plan` says, and one whose conditions change may yet be too short for `scan`, which
compares texts under equal ones. The screen's threshold stands here again because a list of
sessions must not wait for all that the screen imports; a test keeps them the same.
"""

from __future__ import annotations

from math import ceil

import msgspec

from contextecho.counting import counted
from contextecho.defaults import FEWEST_POSITIONS
from contextecho.sessions import Summary

SCREEN_TEXTS = 24  # of one voice: three thirds of `shifts.SMALLEST_THIRD`
TRAJECTORY_STEPS = 12  # one for each position of `even:12`
COMPACTIONS = ceil(FEWEST_POSITIONS / 2) - 1  # k of them give 2k + 2 positions

_EQUAL = "of one voice under equal conditions"
_NOUNS = {
    "scan": (f"text {_EQUAL}", f"texts {_EQUAL}"),
    "trajectory": ("step", "steps"),
    "compactions": ("compaction", "compactions"),
}


class Suitability(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done with a session, and what it lacks for the rest."""

    suits: tuple[str, ...]  # of scan, trajectory, compactions
    lacks: dict[str, str]  # what for -> what is needed


def suitability_of(summary: Summary) -> Suitability:
    """What the session suits; nothing if it could not be read.

    `scan` compares the ends of one voice; `trajectory` takes `even:12`, positions spread
    over the session; `compactions` takes those around each compaction.
    """
    if summary.error is not None:
        return Suitability(suits=(), lacks={})
    longest = max(summary.final_texts or 0, summary.commentary_texts or 0)
    needs = (
        ("scan", longest, SCREEN_TEXTS),
        ("trajectory", summary.steps or 0, TRAJECTORY_STEPS),
        ("compactions", summary.compactions or 0, COMPACTIONS),
    )
    return Suitability(
        suits=tuple(what for what, has, least in needs if has >= least),
        lacks={
            what: f"needs {counted(least, *_NOUNS[what])}, has {has:,}"
            for what, has, least in needs
            if has < least
        },
    )


def lacking_texts(most: int) -> str:
    """What a session lacks for a screen if `most` texts of one voice stand under equal conditions.

    An empty string if it lacks nothing.
    """
    needed = counted(SCREEN_TEXTS, *_NOUNS["scan"])
    return f"needs {needed}, has {most:,}" if most < SCREEN_TEXTS else ""
