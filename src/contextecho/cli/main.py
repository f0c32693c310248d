"""The command line. Commands are loaded only when they are called.

`contextecho --help` must stay fast: this file imports click and nothing else;
each command lives in the file of its name, as an object `command`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO

import click

from contextecho import __version__
from contextecho.cli.groups import LazyGroup
from contextecho.errors import ContextEchoError, ReaderWarning
from contextecho.untrusted import one_line

COMMANDS = {
    "anchors": "List and show what may bring a model back.",
    "demo": "Run the whole pipeline on the bundled session and the embedded model.",
    "doctor": "Say what works on this machine, and what to do about the rest.",
    "figures": "Draw a run's figures for a paper (PDF, SVG, PNG).",
    "import": "Bring in the published reference's released cells.",
    "local": "Install or inspect the embedded model.",
    "plan": "Say what a probe would ask, cost and be able to detect. Sends nothing.",
    "prereg": "Freeze a study before it is collected; tell which runs kept to it.",
    "probe": "Fork a session, ask a model on each fork, score and report.",
    "report": "Write a run's report: HTML, Markdown, JSON or CSV.",
    "reproduce": "Compute the first paper's figures and tables from its released cells.",
    "scan": "Screen sessions for register changes. No model, nothing leaves the machine.",
    "sessions": "List, show, check, keep and convert the sessions on this machine.",
    "snapshot": "Print, byte for byte, what a model would be shown.",
    "store": "Look into a store, check it, shrink it, export it, put several together.",
    "stimuli": "List and show what a model is asked.",
    "studies": "List and show the studies: which question, on which forks, against what.",
    "validate": "Try the estimators on simulated studies with planted gaps.",
}

_HOMES = {"import": "importing"}  # of a name that Python keeps for itself

EPILOG = """\b
Exit codes: 0 ok, 1 regression, 2 usage, 3 inconclusive, 4 incomplete,
5 budget, 6 provider, 130 interrupted (run the same command to continue),
141 nobody reads the output any more."""


class Commands(LazyGroup):
    """The commands; their help lines stand above, so that `--help` imports none."""

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Read the words, which may print help; whoever stops reading it ends the command."""
        with _heard():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whoever stops reading what it prints ends it, as the system would."""
        with _heard():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(
    cls=Commands,
    homes={name: f"contextecho.cli.{_HOMES.get(name, name)}" for name in COMMANDS},
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="contextecho")
def app() -> None:
    """Tell whether the model at the end of a long session is still the one that was shipped."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; turn our errors into one line and their exit code."""
    _accept_any_text()
    _leave_in_order()
    warnings.showwarning = _say_warning
    gc.freeze()  # what is imported by now stays to the end, and is not looked through for garbage
    try:
        app.main(args=argv, standalone_mode=False, prog_name="contextecho")
        with _heard():  # flushes: a full disk is told of here, not when the interpreter ends
            click.echo(nl=False)
    except ContextEchoError as error:
        click.echo(f"contextecho: {one_line(str(error))}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _show(error)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("contextecho: interrupted; run the same command to continue", err=True)
        sys.exit(130)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = error.filename or "the output"
        click.echo(f"contextecho: {one_line(str(where))}: {reason}", err=True)
        _forget(sys.stdout)
        sys.exit(2)


def _leave_in_order() -> None:
    """On SIGTERM leave as at any end, so that private copies of packed sessions go too."""
    with suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning in one line; of code that is not ours, with its place."""
    where = "" if issubclass(category, ReaderWarning) else f"{filename}:{lineno}: "
    click.echo(f"contextecho: {one_line(f'{where}{message}')}", err=True)


def _accept_any_text() -> None:
    """Write what the encoding of stdout or stderr lacks as an escape, as its code point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _heard() -> Iterator[None]:
    """End as a program does that a closed pipe ends; click would end with a regression's 1."""
    try:
        yield
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):
            _forget(stream)
        sys.exit(128 + signal.SIGPIPE)


def _forget(stream: TextIO) -> None:
    """What could not be written is not tried again when the interpreter ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _show(error: click.ClickException) -> None:
    """A wrong call in one line; a group called without a command shows its help."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    context = getattr(error, "ctx", None)
    advice = f" ({context.command_path} --help)" if context else ""
    click.echo(f"contextecho: {one_line(error.format_message())}{advice}", err=True)
