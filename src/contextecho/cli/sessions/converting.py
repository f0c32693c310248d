"""`contextecho sessions convert`: any session in one documented shape, or as an Inspect log."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from contextecho.cli.finding import find_session
from contextecho.cli.printing import say, say_next
from contextecho.counting import counted
from contextecho.errors import UsageError
from contextecho.untrusted import one_line


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
    from contextecho.sessions import choose_format, convert_session, not_written, write_lines

    if output == "-":
        if to == "inspect":
            raise UsageError("an Inspect log is not written to standard output", where="-")
        found = find_session(session)
        write_lines(found, sys.stdout.buffer)
        _say_left_out(not_written(found, "jsonl"))
        say_next("sessions", "show", session)
        return
    path = Path(output)
    format = choose_format(path, to)
    found = find_session(session)
    written = convert_session(found, path, to=format, force=force)
    log = ", a log of Inspect" if format == "inspect" else ""
    say(f"Wrote {counted(len(found.turns), 'turn')} to {one_line(str(written))}{log}")
    _say_left_out(not_written(found, format))
    say_next("sessions", "show", written)


def _say_left_out(left_out: Sequence[str]) -> None:
    """Name what is no part of the conversation in the file, so that nobody looks for it there."""
    if left_out:
        say(f"Not written as part of the conversation: {', '.join(left_out)}")
