"""What many screens come to: which to look at first, what they lack, what to do next.

The terminal and the report say the same by these. Nothing here is a new number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextecho.counting import counted
from contextecho.scoring.screen import Outlook, Screen
from contextecho.scoring.shown import FEATURE_HEADS
from contextecho.scoring.suitability import TRAJECTORY_STEPS, lacking_texts


def heads_standing_out(screen: Screen) -> tuple[str, ...]:
    """The features that stand out in either voice, each once, by their names in a table."""
    heads = (FEATURE_HEADS[shift.feature] for shift in screen.shifts if shift.notable)
    return tuple(dict.fromkeys(heads))


def worth_first(screens: Sequence[Screen]) -> list[Screen]:
    """Those worth probing first, then those where nothing stands out; the longest first."""
    rank = {outlook: place for place, outlook in enumerate(Outlook)}
    return sorted(screens, key=lambda s: (rank[s.outlook], -s.steps, s.path))


def lacking(screen: Screen) -> str:
    """What a session that is too short to tell is short of; an empty string for others."""
    return lacking_texts(most_texts(screen))


def most_texts(screen: Screen) -> int:
    """How many texts of one voice stand under equal conditions, at most."""
    most = (texts for stratum in screen.strata for texts in stratum.texts.values())
    return max(most, default=0)


def repeated(screen: Screen, named: Callable[[str], str] = str) -> str:
    """How many of a session's prompts are those of which others, as they are `named`.

    An empty string for most, which have no prompts but their own.
    """
    if not screen.inherited_prompts:
        return ""
    theirs = [f"{each.prompts:,} from {named(each.session)}" for each in screen.repeats]
    said = " and ".join(theirs) or (
        f"{screen.inherited_prompts:,} from the session that it goes on from"
    )
    return f"of its {counted(screen.prompts, 'prompt')}, {said}"


def next_command(screens: Sequence[Screen]) -> tuple[str, ...]:
    """The words of a plan for the session that has most to show, if one is long enough for a plan.

    `screens` holds one at least.
    """
    long = [screen for screen in screens if screen.outlook is not Outlook.SHORT]
    if long:
        best = max(long, key=lambda s: (any(x.notable for x in s.shifts), s.compactions, s.steps))
        return ("plan", best.path, "--target", "local")
    longest = max(screens, key=lambda screen: screen.steps)
    if longest.steps < TRAJECTORY_STEPS:
        return ("sessions", "list")
    return ("plan", longest.path, "--target", "local", "--positions", f"even:{TRAJECTORY_STEPS}")
