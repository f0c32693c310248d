"""`contextecho sessions convert`: any session in one documented shape, or as an Inspect log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextecho.cli.finding import find_session
from contextecho.cli.printing import say, say_next
from contextecho.counting import counted
from contextecho.errors import UsageError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import Session


@click.command("convert")
@click.argument("session")
@click.option("-o", "--output", required=True, metavar="FILE", help="`-` is standard output.")
@click.option(
    "--to",
    type=click.Choice(["jsonl", "inspect"]),
    help="Default: by FILE, .jsonl, or .eval or .json for a log; jsonl for `-`.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def command(session: str, output: str, to: str | None, force: bool) -> None:
    """Write SESSION as normalised JSON lines, or as a log of Inspect.

    Normalised JSON lines are a header and one line a turn; they hold all that this program
    knows of the session, and every command reads them. An Inspect log is an .eval file, or
    one JSON document where FILE ends in .json. Nothing is redacted: what the session holds
    of secrets is in FILE.
    """
    from contextecho.sessions import choose_format, convert_session, write_lines

    if output == "-":
        if to == "inspect":
            raise UsageError("an Inspect log is not written to standard output", where="-")
        found = find_session(session)
        write_lines(found, sys.stdout.buffer)
        _say_left_out(found)
        say_next("sessions", "show", session)
        return
    path = Path(output)
    format = choose_format(path, to)
    found = find_session(session)
    written = convert_session(found, path, to=format, force=force)
    log = f", a log of Inspect{_aside(found)}" if format == "inspect" else ""
    say(f"Wrote {counted(len(found.turns), 'turn')} to {one_line(str(written))}{log}")
    _say_left_out(found)
    say_next("sessions", "show", written)


def _aside(session: Session) -> str:
    """How many of the turns are in the log's metadata, and not among its messages."""
    aside = sum(turn.abandoned for turn in session.turns)
    return f"; {aside:,} of them, which a rewind left behind, in its metadata" if aside else ""


def _say_left_out(session: Session) -> None:
    """Name what is not in the file, so that nobody looks for it there."""
    if agents := len(session.sidechains):
        say(f"Not written: the conversations of {counted(agents, 'sub-agent')}")
