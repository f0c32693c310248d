"""How the commands that show sessions print tables and numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from contextecho.untrusted import one_line

COUNTS = ("prompts", "steps", "row_turns")
"""How far in a session is, by each of its indices."""


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table on a terminal; tab-separated lines in a pipe. Cells are untrusted."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in [heads, *cells] if any(heads) else cells:
            click.echo("\t".join(line))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(heads), pad_edge=False)
    for head in heads:
        table.add_column(
            head, justify="right" if head in right else "left", no_wrap=head != heads[-1]
        )
    for row in cells:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)


def print_sessions(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """As `print_table`, but on a terminal each row stands over its last cell, a session's name.

    A name has a line to itself, unbroken, so that it can be copied.
    """
    cells = [[one_line(cell) for cell in row] for row in (heads, *rows)]
    if len(cells) == 1:
        return
    if not sys.stdout.isatty():
        print_table(heads, cells[1:])
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for *row, says, name in cells:
        aligned = (
            f"{cell:>{width}}" if head in right else f"{cell:<{width}}"
            for head, cell, width in zip(heads, row, widths, strict=False)
        )
        click.echo("  ".join((*aligned, says)))
        click.echo(f"  {name}")


def number(value: int | None) -> str:
    """With commas between thousands; a dash for what is not known."""
    return "-" if value is None else f"{value:,}"


def size(count: int) -> str:
    """Of a file, from its bytes."""
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
