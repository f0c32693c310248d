"""Writes the page of commands from the commands themselves: `python docs/reference/generate.py`.

The one thing to know: `commands.md` beside this file is what `page` returns, and a
test compares the two, so the page is never edited by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from contextecho.cli.main import app
from contextecho.errors import (
    BudgetError,
    ContextEchoError,
    IncompleteError,
    ProviderError,
    UsageError,
)

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 90  # characters of a line of help

_HEAD = """\
# Commands

The help of every command, as `contextecho COMMAND --help` prints it (written by
`docs/reference/generate.py`, checked by a test). Data goes to standard output, everything else to
standard error; a command ends by naming the next one where there is one.

## Exit codes

| code | meaning |
|---:|---|
"""

# Codes without an exception of their own: 1 and 3 are kept for a gate, which is still to come.
_OTHER_CODES = {
    0: "ok",
    1: "regression (reserved for the gate, which comes later)",
    3: "inconclusive (reserved for the gate)",
    130: "interrupted; the same command continues",
    141: "nobody reads the output any more",
}
_ERRORS: tuple[type[ContextEchoError], ...] = (
    UsageError,
    IncompleteError,
    BudgetError,
    ProviderError,
)


def page() -> str:
    """The whole page as Markdown."""
    parts = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps()]
    return (
        _HEAD
        + "".join(f"| {code} | {says} |\n" for code, says in _codes())
        + "\n"
        + "\n".join(parts)
    )


def helps() -> Iterator[tuple[str, str]]:
    """(name as typed, help text) of the program and of every command, in the order of the help."""
    root = click.Context(
        app,
        info_name="contextecho",
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **app.context_settings,
    )
    yield from _walk(root)


def _walk(context: click.Context) -> Iterator[tuple[str, str]]:
    command = context.command
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _walk(
                    click.Context(child, parent=context, info_name=name, terminal_width=WIDTH)
                )


def _codes() -> list[tuple[int, str]]:
    """Every exit code with its meaning; an error's is the first line of its docstring."""
    errors = {
        error.exit_code: (error.__doc__ or "").splitlines()[0].rstrip(".").lower()
        for error in _ERRORS
    }
    return sorted((_OTHER_CODES | errors).items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
