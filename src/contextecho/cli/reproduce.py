"""`contextecho reproduce`: the first paper's numbers again, from its released cells."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextecho.cli.options import json_option, store_option
from contextecho.cli.printing import print_json, say, show
from contextecho.cli.sessions.tables import print_table
from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.reproducing import ReproducedNumber, Reproduction

_HEADS = ("exhibit", "row", "column", "paper", "found", "n", "", "note")


@click.command()
@click.argument("names", metavar="[ID...|all]", nargs=-1)
@click.option(
    "--data", metavar="DIR", type=click.Path(path_type=Path), help="The released tree to read."
)
@click.option("--release", default="latest", metavar="ID", help="Of those in the store.")
@store_option
@json_option
def command(
    names: tuple[str, ...], data: Path | None, release: str, store: Path | str, as_json: bool
) -> None:
    """Compute the first paper's figures and tables from its release.

    ID is an exhibit, as in figure-3, table-5 or appendix-B. Without --data the cells are those
    that `import release` kept. Ends with 0 when all that can be computed is what the paper
    prints, with 1 when a number differs, with 4 when none could be compared.
    """
    only = () if "all" in names else names
    found = _of_tree(data, only) if data else _of_store(store, release, only)
    if as_json:
        print_json(found)
    else:
        _show(found)
    sys.exit(_exit_code(found))


def _of_tree(folder: Path, only: tuple[str, ...]) -> Reproduction:
    from contextecho.release import cells_of_tree, read_release
    from contextecho.reproducing import reproduce

    tree = read_release(folder)
    return reproduce(cells_of_tree(tree), tree.findings, tree.id, only)


def _of_store(store: Path | str, release: str, only: tuple[str, ...]) -> Reproduction:
    from contextecho.release import cells_of_store
    from contextecho.reproducing import reproduce
    from contextecho.store import find_release, open_store, release_findings

    with open_store(store) as opened:
        kept = find_release(opened, release)
        cells = cells_of_store(opened, kept)
        return reproduce(cells, release_findings(opened, kept.id), kept.id, only)


def _exit_code(found: Reproduction) -> int:
    from contextecho.reproducing import Verdict

    if found.count(Verdict.DIFFERS):
        return 1
    return 0 if found.count(Verdict.FITS) else 4


def _show(found: Reproduction) -> None:
    from contextecho.reproducing import Verdict

    print_table(_HEADS, _rows(found), right=("paper", "found", "n"))
    show()
    for exhibit in found.exhibits:
        for note in exhibit.notes:
            show(f"{exhibit.id}: {note}")
    show()
    for flag, files in found.flags.items():
        show(f"flagged {flag}: {counted(files, 'file')}")
    for folder in found.strange_targets:
        say(f"{folder}: no target of the paper is known by this name; its cells are in no number")
    counts = ", ".join(f"{found.count(verdict)} {verdict.value}" for verdict in Verdict)
    show(f"release {found.release}, {counted(found.cells, 'cell')}: {counts}")


def _rows(found: Reproduction) -> Iterator[tuple[str, ...]]:
    for exhibit in found.exhibits:
        for line in exhibit.lines:
            yield (
                exhibit.id,
                line.row,
                line.column,
                _printed(line),
                "-" if line.found is None else _number(line.found),
                f"{line.n:,}" if line.n else "-",
                line.verdict.value,
                "; ".join(_notes(line)),
            )


def _printed(line: ReproducedNumber) -> str:
    if line.paper is None or line.relation is None:
        return "-"
    sign = "" if line.relation.value == "=" else line.relation.value
    return f"{sign}{_number(line.paper)}"


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:,.3f}".rstrip("0").rstrip(".")


def _notes(line: ReproducedNumber) -> Iterator[str]:
    if line.interval is not None:
        yield f"interval {line.interval.low:+.2f} to {line.interval.high:+.2f}"
    if line.left_out:
        yield f"{line.left_out} left out"
    if line.as_published is not None:
        yield f"the published analysis averaged them: {_number(line.as_published)}"
    if line.note:
        yield line.note
