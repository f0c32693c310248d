"""`scan -o`: the report of a scan, where `report` would write one.

The one thing to know: what cannot be written is refused before anything is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextecho.errors import UsageError

if TYPE_CHECKING:
    from contextecho.scoring import Screened

_PAGE = "scan.html"


def chosen_output(output: str | None, name: str | None, *, as_json: bool) -> str | None:
    """Where the report goes: a file, `-`, or None if none is asked for.

    Without FILE, Markdown goes to standard output and HTML to `scan.html`, as with
    `report`. Raises `UsageError` for a format or a place that cannot be.
    """
    if output is None and name is None:
        return None
    from contextecho.reports import refuse_unwritable_scan

    if output is None:
        output = _PAGE if name == "html" else "-"
    refuse_unwritable_scan(None if output == "-" else Path(output), format=name)
    if output == "-" and as_json:
        raise UsageError(
            "the report and --json would both go to standard output",
            todo="give -o a file, or leave one of them out",
        )
    return output


def write(screened: Screened, output: str, name: str | None) -> Path | None:
    """Write the report to where `chosen_output` said; the file, if it is one."""
    from contextecho.reports import render_scan, write_scan

    if output == "-":
        click.echo(render_scan(screened, name or "html"), nl=False)
        return None
    return write_scan(screened, Path(output), format=name)
