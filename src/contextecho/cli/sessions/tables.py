"""How the commands that show sessions print tables and numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import click

from contextecho import own_files
from contextecho.moments import local_minute
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import Session

COUNTS = ("prompts", "steps", "row_turns")
"""How far in a session is, by each of its indices."""

CUT_SHORT = "cut: the file ends in the middle"
"""Said of a session whose file does."""


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


def print_files(session: Session) -> None:
    """Which lines are whose, of a session that goes through several files."""
    rows = [(str(file.first_line), from_home(str(file.path))) for file in session.files]
    if rows:
        print_table(("first line", "file that it goes through"), rows, right=("first line",))


def print_sessions(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """As `print_table`, but on a terminal each row stands over its last cell, a session's name.

    There no line is wider than the terminal: the columns that fit stand side by side, the
    others below them, and a name that is too long loses its middle.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not cells:
        return
    if not sys.stdout.isatty():
        print_table(heads, cells)
        return
    import shutil

    for line in _lay_out(heads, cells, right, shutil.get_terminal_size().columns):
        click.echo(line)


def _lay_out(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str], width: int
) -> Iterator[str]:
    """The lines of a table whose last column has a line to itself."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    ends = accumulate(size + 2 for size in widths)
    beside = sum(end - 2 <= width for end in ends)
    for row in (heads, *rows):
        aligned = (
            " " * (size - cell_len(cell)) + cell
            if head in right
            else cell + " " * (size - cell_len(cell))
            for head, cell, size in zip(heads[:beside], row, widths, strict=False)
        )
        yield "  ".join(aligned).rstrip()
        yield from _flowing([cell for cell in row[beside:-1] if cell], width)
        yield "  " + shortened(row[-1], width - 2)


def _flowing(cells: Sequence[str], width: int) -> Iterator[str]:
    """As many cells a line as fit, with dots between them; a longer one loses its middle."""
    from rich.cells import cell_len

    line = ""
    for cell in (shortened(cell, width - 2) for cell in cells):
        if line and cell_len(line) + 3 + cell_len(cell) <= width:
            line += f" · {cell}"
        else:
            if line:
                yield line
            line = f"  {cell}"
    if line:
        yield line


def shortened(text: str, width: int) -> str:
    """A path or another text for a line of a terminal, with … for what does not fit."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    before = max(0, width - 1) // 3
    after = max(0, width - 1 - before)
    end = set_cell_size(text[::-1], after)[::-1]
    return f"{set_cell_size(text, before)}…{end}" if width > 0 else ""


def from_home(path: str) -> str:
    """A path on one line, with `~` for the user's home on a terminal."""
    return one_line(own_files.from_home(path) if sys.stdout.isatty() else path)


def number(value: int | None) -> str:
    """With commas between thousands; a dash for what is not known."""
    return "-" if value is None else f"{value:,}"


def time_shown(seconds: float) -> str:
    """A moment by the clock of this machine, to the minute; a dash for what no calendar has."""
    return local_minute(seconds) or "-"


def size(count: int | None) -> str:
    """Of a file, from its bytes; a dash for what is not known."""
    if count is None:
        return "-"
    if count < 1_000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
