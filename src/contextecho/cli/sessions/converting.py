"""`contextecho sessions convert`: any session in one documented shape, or as an Inspect log."""

from __future__ import annotations

import sys
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
    help="Default: by FILE, .jsonl or .eval; jsonl for `-`.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def command(session: str, output: str, to: str | None, force: bool) -> None:
    """Write SESSION as normalised JSON lines, or as a log of Inspect.

    Normalised JSON lines are a header and one line a turn; they hold all that this program
    knows of the session, and every command reads them. An Inspect log is an .eval file, or
    one JSON document where FILE ends in .json. Nothing is redacted: what the session holds
    of secrets is in FILE.
    """
    from contextecho.sessions import convert_session, write_lines

    if output == "-":
        if to == "inspect":
            raise UsageError("an Inspect log is not written to standard output", where="-")
        write_lines(find_session(session), sys.stdout.buffer)
        say_next("sessions", "show", session)
        return
    found = find_session(session)
    written = convert_session(found, Path(output), to=to, force=force)
    say(f"Wrote {counted(len(found.turns), 'turn')} to {one_line(str(written))}")
    say_next("sessions", "show", written)
