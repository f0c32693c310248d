"""`contextecho validate`: what the estimators are worth on simulated studies with planted gaps.

The one thing to know: nothing here estimates anything. Each row is what `stats` says of
studies whose true gap is known, next to the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, show
from contextecho.errors import UsageError

if TYPE_CHECKING:
    from contextecho.stats import Record, Setting, Share

_STUDIES, _QUICK_STUDIES = 4_000, 400
_QUICK = ("plain", "ceiling", "lenient judge", "sampled probes")
_BYTES = 160  # of scores a position and wording: two arms, true and read, five probes


@click.command()
@click.option("--quick", is_flag=True, help="Four worlds and a tenth of the studies.")
@click.option("--seed", type=click.IntRange(0), default=42, show_default=True)
@click.option(
    "--studies",
    type=click.IntRange(2),
    metavar="N",
    help=f"Simulated a setting.  [default: {_STUDIES}; quick: {_QUICK_STUDIES}]",
)
@click.option(
    "--world",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this world; may be given several times.",
)
@click.option("--processes", type=click.IntRange(1), help="Default: one a core.")
@json_option
def command(
    quick: bool,
    seed: int,
    studies: int | None,
    names: tuple[str, ...],
    processes: int | None,
    as_json: bool,
) -> None:
    """Try every estimator on simulated studies with planted gaps.

    Prints bias, coverage, size and power over worlds, gaps and numbers of positions, each
    with its Monte-Carlo error. The same seed gives the same table.
    """
    from contextecho.processes import spread
    from contextecho.stats import validate_setting

    studies = studies or (_QUICK_STUDIES if quick else _STUDIES)
    chosen = _settings(names or (_QUICK if quick else ()))
    found = spread(
        partial(validate_setting, studies=studies, seed=seed),
        chosen,
        [_BYTES * studies * each.clusters * each.world.wordings for each in chosen],
        processes=processes,
    )
    records = [record for setting in found for record in setting]
    if as_json:
        print_json({"seed": seed, "studies": studies, "records": records})
    else:
        for line in _lines(chosen, records, seed, studies):
            show(line)


def _settings(names: Sequence[str]) -> list[Setting]:
    """The settings of the named worlds, of all where none is named."""
    from contextecho.stats import settings, worlds

    known = {world.name: world for world in worlds()}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"no world is called {unknown[0]!r}", todo=f"worlds: {', '.join(known)}")
    return list(settings(known[name] for name in dict.fromkeys(names or known)))


def _lines(
    chosen: Sequence[Setting], records: Sequence[Record], seed: int, studies: int
) -> Iterator[str]:
    """The tables, in Markdown, so that they can be kept as they are."""
    says = {setting.world.name: setting.world.says for setting in chosen}
    yield f"{studies:,} simulated studies a setting, seed {seed}."
    yield ""
    yield from _verdict(records)
    for name, group in groupby(records, key=lambda record: record.world):
        yield f"\n## {name}: {says[name]}\n"
        yield from _aligned(list(_rows(list(group))))


def _verdict(records: Sequence[Record]) -> Iterator[str]:
    """Whether the default interval keeps its promise."""
    from contextecho.stats import promises

    yield from (
        f"- {promise.clusters} positions: the default interval covers {promise.lowest:.1%} to"
        f" {promise.highest:.1%}, size at most {promise.largest_size:.1%}"
        f" ({promise.settings} settings in which what it assumes holds)"
        for promise in promises(records)
    )


def _rows(records: Sequence[Record]) -> Iterator[list[str]]:
    """One row an estimator and number of positions, with three columns a gap."""
    gaps = list(dict.fromkeys(record.gap for record in records))
    per_gap = [f"{head} {gap:g}" for gap in gaps for head in ("bias at", "covers at", "finds at")]
    yield ["estimator", "positions", *per_gap, f"width at {gaps[0]:g}", "without"]
    estimators = list(dict.fromkeys(record.estimator for record in records))
    by = {(r.estimator, r.clusters, r.gap): r for r in records}
    for estimator in estimators:
        for clusters in dict.fromkeys(record.clusters for record in records):
            row = [by[estimator, clusters, gap] for gap in gaps]
            cells = (cell for record in row for cell in _cells(record))
            width = "" if row[0].width is None else f"{row[0].width:.2f}"
            without = max(1.0 - record.n / record.studies for record in row)
            yield [estimator, str(clusters), *cells, width, f"{without:.0%}" if without else ""]


def _cells(record: Record) -> tuple[str, str, str]:
    bias = f"{record.bias.value:+.3f}({record.bias.error * 1_000:.0f})" if record.bias else ""
    return bias, _percent(record.coverage), _percent(record.found)


def _percent(share: Share | None) -> str:
    """A share in percent, with the error of its last digit."""
    return "" if share is None else f"{share.value * 100:.1f}({share.error * 1_000:.0f})"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ruler = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for row in (rows[0], ruler, *rows[1:]):
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"| {' | '.join((row[0].ljust(widths[0]), *numbers))} |"
