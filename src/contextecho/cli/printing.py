"""What all commands print alike: JSON on stdout, the next command on stderr.

The one thing to know: text from sessions, models and files is untrusted; `show` and
`say` make it visible, so that no command has to remember it.
"""

from __future__ import annotations

import shlex
from typing import Any

import click

from contextecho.untrusted import make_visible


def print_json(document: Any) -> None:
    """Print one JSON document, indented, on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def show(text: str = "") -> None:
    """Print lines for a human to read, on stdout."""
    click.echo(make_visible(text))


def say(text: str) -> None:
    """Say something to the human: on stderr, so that stdout stays data."""
    click.echo(make_visible(text), err=True)


def say_next(*words: object) -> None:
    """Name the next command, filled in and quoted for a shell."""
    say_command("Next", *words)


def say_command(what: str, *words: object) -> None:
    """Name a command of this program after `what` it is for."""
    say(f"{what}: contextecho " + " ".join(quoted(str(word)) for word in words))


def counted(count: int, noun: str) -> str:
    """`1 prefix`, `1,200 prefixes`."""
    plural = f"{noun}es" if noun.endswith(("x", "s")) else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def quoted(word: str) -> str:
    """A word as a shell takes it; placeholders in capitals stay as they are."""
    return word if word.isupper() else shlex.quote(word)
