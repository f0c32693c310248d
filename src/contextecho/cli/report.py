"""`contextecho report`: a run as one HTML file, or as Markdown, JSON or CSV."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from contextecho.cli.finding import find_analysis, find_series_analysis
from contextecho.cli.options import run_argument, store_option, store_words, verdicts_option
from contextecho.cli.printing import say, say_next


@click.command()
@run_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write; `-` is standard output. Default: report.html for HTML, else `-`.",
)
@click.option("--format", "name", metavar="html|md|json|csv", help="Default: by FILE, else html.")
@click.option(
    "--series", "whole", is_flag=True, help="All runs of its study: every level and session."
)
@verdicts_option
@store_option
def command(
    run: str,
    output: str | None,
    name: str | None,
    whole: bool,
    judge: str | None,
    store: Path | str,
) -> None:
    """Write the report of a run, whatever part of it is collected.

    The HTML report is one file that needs no network. It holds replies of the model
    and the name of the session: read it before you share it.
    """
    from contextecho.reports import render, render_series, write_report, write_series

    write: Callable[..., Path]
    if whole:
        series = find_series_analysis(run, store, judge=judge)
        found = series.parts[0].analysis
        text, write = partial(render_series, series), partial(write_series, series)
    else:
        found = find_analysis(run, store, judge=judge)
        text, write = partial(render, found), partial(write_report, found)
    if output is None and name in (None, "html"):
        output = "report.html"
    if output in (None, "-"):
        click.echo(text(name or "html"), nl=False)
    else:
        written = write(Path(output), format=name)
        say(f"Wrote {written}")
    say_next("figures", found.run.id, *store_words(store), "-o", "figures")
