"""`contextecho report`: a run as one HTML file, or as Markdown, JSON or CSV."""

from __future__ import annotations

from pathlib import Path

import click

from contextecho.cli.finding import find_analysis
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
@verdicts_option
@store_option
def command(
    run: str, output: str | None, name: str | None, judge: str | None, store: Path | str
) -> None:
    """Write the report of a run, whatever part of it is collected.

    The HTML report is one file that needs no network. It holds replies of the model
    and the name of the session: read it before you share it.
    """
    from contextecho.reports import render, write_report

    analysis = find_analysis(run, store, judge=judge)
    if output is None and name in (None, "html"):
        output = "report.html"
    if output in (None, "-"):
        click.echo(render(analysis, name or "html"), nl=False)
    else:
        written = write_report(analysis, Path(output), format=name)
        say(f"Wrote {written}")
    say_next("figures", analysis.run.id, *store_words(store), "-o", "figures")
