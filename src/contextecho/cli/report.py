"""`contextecho report`: a run as one HTML file, or as Markdown, JSON or CSV."""

from __future__ import annotations

from pathlib import Path

import click

from contextecho.cli.printing import say, say_next


@click.command()
@click.argument("run", metavar="[RUN|latest]", default="latest")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write; `-` is standard output. Default: report.html for HTML, else `-`.",
)
@click.option("--format", "name", metavar="html|md|json|csv", help="Default: by FILE, else html.")
@click.option("--judge", metavar="MODEL", help="Whose verdicts to use, if there are several.")
@click.option(
    "--store",
    "place",
    metavar="DIR",
    default=".contextecho",
    show_default=True,
    envvar="CONTEXTECHO_STORE",
    help="The store that holds the run.",
)
def command(run: str, output: str | None, name: str | None, judge: str | None, place: str) -> None:
    """Write the report of a run, whatever part of it is collected.

    The HTML report is one file that needs no network. It holds replies of the model
    and the name of the session: read it before you share it.
    """
    from contextecho.report import render, write_report
    from contextecho.scoring import analyse_run
    from contextecho.store import open_store

    with open_store(place, create=False) as store:
        found = store.find_run(run)
        analysis = analyse_run(store, found, judge=judge)
    if output is None and name in (None, "html"):
        output = "report.html"
    if output in (None, "-"):
        click.echo(render(analysis, name or "html"), nl=False)
    else:
        written = write_report(analysis, Path(output), format=name)
        say(f"Wrote {written}")
    say_next("figures", found.id, "--store", place, "-o", "figures")
