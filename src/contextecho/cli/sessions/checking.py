"""`contextecho sessions check`: what of a session was left out or mended, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import end_with, find_session
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show
from contextecho.cli.sessions.tables import print_files, print_table
from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import Session, Skipped

_MOST_RUNS = 12  # of lines in a row, shown for one reason


@click.command("check")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@json_option
def command(sessions: tuple[str, ...], as_json: bool) -> None:
    """Print what of SESSIONs was left out or mended, why and where."""
    read: list[Session] = []
    unread: list[SessionError] = []
    for session in sessions:
        try:
            read.append(find_session(session))
        except SessionError as error:
            unread.append(error)
    if not read:
        end_with(unread)
    if as_json:
        print_json([_findings(session) for session in read])
    else:
        for found in read:
            _print_findings(found)
    say_next("sessions", "show", read[-1].name)
    end_with(unread)


def _findings(session: Session) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(session.path),
        "member": session.member,
        "format": session.format,
        "files": [msgspec.structs.asdict(f) | {"path": str(f.path)} for f in session.files],
        "turns": len(session.turns),
        "skipped": [msgspec.to_builtins(s) for s in session.skipped],
    }


def _print_findings(session: Session) -> None:
    left_out = sum(skipped.count for skipped in session.skipped)
    show(f"{one_line(session.name)} ({session.format})")
    show(f"  {counted(len(session.turns), 'turn')}; {left_out:,} left out or mended")
    print_files(session)
    rows = [(s.reason, f"{s.count:,}", _places(s)) for s in session.skipped]
    if rows:
        print_table(("not in the turns", "times", "lines"), rows, right=("times",))


def _places(skipped: Skipped) -> str:
    """`3, 5-9, 12 and 40 more`."""
    runs: list[list[int]] = []
    for line in skipped.lines:
        if runs and 0 <= line - runs[-1][-1] <= 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    shown = runs[:_MOST_RUNS]
    text = ", ".join(str(run[0]) if run[0] == run[-1] else f"{run[0]}-{run[-1]}" for run in shown)
    more = skipped.count - sum(map(len, shown))
    return f"{text} and {more:,} more" if more else text
