"""What all commands print alike: JSON on stdout, the next command on stderr.

The one thing to know: text from sessions, models and files is untrusted; `show` and
`say` make it visible, so that no command has to remember it.
"""

from __future__ import annotations

import re
from typing import Any

import click

from contextecho.untrusted import make_visible, shell_word

_SURROGATES = re.compile("[\ud800-\udfff]+")


def print_json(document: Any) -> None:
    """Print one JSON document, indented, on stdout."""
    import msgspec

    plain = _encodable(msgspec.to_builtins(document))
    click.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2))


def show(text: str = "") -> None:
    """Print lines for a human to read, on stdout."""
    click.echo(make_visible(text))


def say(text: str) -> None:
    """Say something to the human: on stderr, so that stdout stays data."""
    click.echo(make_visible(text), err=True)


def say_next(*words: object) -> None:
    """Name the next command, filled in and quoted for a shell (`command_line`)."""
    say_command("Next", *words)


def say_next_plan(session: object, even: int | None = None) -> None:
    """Name the plan of a probe: at `even` positions, or at those that `plan` chooses."""
    positions = () if even is None else ("--positions", f"even:{even}")
    say_next("plan", session, "--target", "local", *positions)


def say_command(what: str, *words: object) -> None:
    """Name a command of this program after `what` it is for."""
    say(f"{what}: {command_line(*words)}")


def command_line(*words: object) -> str:
    """A command of this program on one line, quoted for a shell."""
    return " ".join(["contextecho", *(shell_word(str(word)) for word in words)])


def _encodable(value: Any) -> Any:
    """The same value in JSON's types, with marks for lone surrogates, which UTF-8 cannot hold.

    A file name that is not UTF-8 holds them: it may be any bytes but NUL and the slash.
    """
    if isinstance(value, str):
        return _SURROGATES.sub(lambda found: make_visible(found[0]), value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
