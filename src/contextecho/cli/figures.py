"""`contextecho figures`: a run's figures for a paper, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path

import click

from contextecho.cli.finding import find_analysis
from contextecho.cli.options import run_argument, store_option, store_words, verdicts_option
from contextecho.cli.printing import say_next


def _listed(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """A comma-separated option as its parts."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


@click.command()
@run_argument
@click.option(
    "--only",
    metavar="NAME,...",
    callback=_listed,
    help="Families (trajectory, arms, contrasts, fingerprint, contracts) or ids of figures.",
)
@click.option("-o", "--output", metavar="DIR", default="figures", show_default=True)
@click.option(
    "--format", "formats", metavar="pdf,svg,png", default="pdf", show_default=True, callback=_listed
)
@verdicts_option
@store_option
def command(
    run: str,
    only: tuple[str, ...],
    output: str,
    formats: tuple[str, ...],
    judge: str | None,
    store: Path | str,
) -> None:
    """Draw a run's figures: the same numbers as the report, as PDF, SVG or PNG.

    The same run gives the same files, byte for byte. Needs the extra `figures`.
    """
    from contextecho.reports import draw_figures

    analysis = find_analysis(run, store, judge=judge)
    for path in draw_figures(analysis, output, formats, only):
        click.echo(path)
    say_next("report", analysis.run.id, *store_words(store), "-o", "report.html")
