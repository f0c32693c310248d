"""What a session is long enough for, told from its counts alone.

The one thing to know: these are the thresholds of the screen and of the position
policies themselves. A session that passes can be measured; whether the measurement will
be precise enough, `plan` says.
"""

from __future__ import annotations

from math import ceil

import msgspec

from contextecho.counting import counted
from contextecho.defaults import FEWEST_POSITIONS
from contextecho.scoring.screen import SMALLEST_THIRD, WINDOWS
from contextecho.sessions import Summary

_THIRDS = 3 * SMALLEST_THIRD
_COMPACTIONS = ceil(FEWEST_POSITIONS / 2) - 1  # k of them give 2k + 2 positions


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
    needs = {
        "scan": (longest, _THIRDS, f"{_THIRDS} final answers, or as many remarks"),
        "trajectory": (summary.steps or 0, WINDOWS, counted(WINDOWS, "step")),
        "compactions": (
            summary.compactions or 0,
            _COMPACTIONS,
            counted(_COMPACTIONS, "compaction"),
        ),
    }
    return Suitability(
        suits=tuple(what for what, (has, least, _) in needs.items() if has >= least),
        lacks={
            what: f"needs {said}, has {has:,}"
            for what, (has, least, said) in needs.items()
            if has < least
        },
    )
