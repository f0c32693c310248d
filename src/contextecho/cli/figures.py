"""`contextecho figures`: a run's figures for a paper, drawn by matplotlib."""

from __future__ import annotations

import click

from contextecho.cli.printing import say_next


def _listed(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """A comma-separated option as its parts."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


@click.command()
@click.argument("run", metavar="[RUN|latest]", default="latest")
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
def command(
    run: str,
    only: tuple[str, ...],
    output: str,
    formats: tuple[str, ...],
    judge: str | None,
    place: str,
) -> None:
    """Draw a run's figures: the same numbers as the report, as PDF, SVG or PNG.

    The same run gives the same files, byte for byte. Needs the extra `figures`.
    """
    from contextecho.report import draw_figures
    from contextecho.scoring import analyse_run
    from contextecho.store import open_store

    with open_store(place, create=False) as store:
        found = store.find_run(run)
        analysis = analyse_run(store, found, judge=judge)
    for path in draw_figures(analysis, output, formats, only):
        click.echo(path)
    say_next("report", found.id, "--store", place, "-o", "report.html")
