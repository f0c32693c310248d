"""`contextecho scan`: the passive screen. No model is asked, nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import (
    end_with,
    find_path_to_scan,
    say_copies,
    say_sub_agents,
    say_unread,
)
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, say_next_plan, show
from contextecho.errors import SessionError

if TYPE_CHECKING:
    from contextecho.cli.scan.screening import Screened
    from contextecho.scoring import Screen


@click.command()
@click.argument("sessions", metavar="SESSION|DIR...", nargs=-1, required=True)
@json_option
def command(sessions: tuple[str, ...], as_json: bool) -> None:
    """Screen sessions for changes of register: a screen, never a diagnosis.

    Shows how the model's own voice changes within a session: hedges, first-person
    experience, commitments, dashes, paragraph breaks and length, with final answers and
    commentary between tool calls kept apart. Reads files only; asks no model. `latest` is
    the newest session on this machine that is long enough. Several sessions, or folders
    of any clients, give one table, those worth probing first.
    """
    from contextecho.cli.scan.many import print_screens
    from contextecho.cli.scan.one import lines_of
    from contextecho.cli.scan.screening import screen_all

    paths = [find_path_to_scan(text) for text in sessions]
    screened = screen_all(paths, on_unread=say_unread)
    screens, unread = screened.screens, screened.unread
    named = {str(path) for path in paths if not path.is_dir()}
    wrong = [error for error in unread if error.where in named]
    if not screens:
        end_with(wrong)
        raise unread[0] if len(unread) == 1 else _nothing(paths, len(unread))
    if as_json:
        print_json(_document(screened))
    elif len(screens) == 1 and not unread:
        _print_lines(lines_of(screens[0]))
    else:
        print_screens(screens, unread)
    say_sub_agents(screened.sub_agents)
    say_copies(screened.copies)
    _say_next(screens)
    end_with(wrong)


def _say_next(screens: Sequence[Screen]) -> None:
    """A plan for the session that has most to show, if one is long enough for a plan."""
    from contextecho.scoring import TRAJECTORY_STEPS, Outlook

    long = [screen for screen in screens if screen.outlook is not Outlook.SHORT]
    if long:
        best = max(long, key=lambda s: (any(x.notable for x in s.shifts), s.compactions, s.steps))
        say_next_plan(best.path)
        return
    longest = max(screens, key=lambda screen: screen.steps)
    if longest.steps >= TRAJECTORY_STEPS:
        say_next_plan(longest.path, TRAJECTORY_STEPS)
    else:
        say_next("sessions", "list")


def _nothing(paths: Sequence[Path], unread: int) -> SessionError:
    where = ", ".join(map(str, paths))
    what = (
        f"holds no session that can be read ({unread} files tried)"
        if unread
        else "holds no session"
    )
    return SessionError(what, where=where, todo="contextecho sessions list")


def _document(screened: Screened) -> dict[str, Any]:
    import msgspec

    return {
        "label": screened.screens[0].label,
        "sessions": msgspec.to_builtins(screened.screens),
        "unread": [{"path": error.where, "reason": error.what} for error in screened.unread],
    }


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        show(line)
