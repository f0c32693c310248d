"""Many sessions' screens as one table, those worth probing first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextecho.cli.printing import show
from contextecho.cli.sessions.tables import CUT_SHORT, from_home, number, print_sessions
from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.errors import SessionError
    from contextecho.scoring import Screen

_HEADS = ("screen", "format", "prompts", "steps", "compactions", "stands out", "models", "session")
_RIGHT = ("prompts", "steps", "compactions")


def print_screens(screens: Sequence[Screen], unread: Sequence[SessionError]) -> None:
    """One row a session, longest first within what its screen says; then what was not read."""
    from contextecho.scoring import repeated, worth_first

    print_sessions(_HEADS, [_row(screen) for screen in worth_first(screens)], right=_RIGHT)
    for screen in screens:
        if screen.is_cut:
            show(f"{CUT_SHORT}\t{from_home(screen.path)}")
        if screen.inherited_prompts:
            show(f"repeats\t{from_home(screen.path)}: {repeated(screen, from_home)}")
    for error in unread:
        show(f"not read\t{from_home(error.where)}: {error.what}")
    show(
        f"{counted(len(screens), 'session')} read, {counted(len(unread), 'file')} not; "
        f"each line is {screens[0].label}"
    )


def _row(screen: Screen) -> tuple[str, ...]:
    from contextecho.scoring import heads_standing_out

    counts = (screen.prompts, screen.steps, screen.compactions)
    return (
        screen.outlook,
        screen.format,
        *map(number, counts),
        ", ".join(heads_standing_out(screen)) or "-",
        ", ".join(screen.models),
        from_home(screen.path),
    )
