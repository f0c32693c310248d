"""A group of commands that are imported when they are called.

The one thing to know: a command pays for what it needs itself, and for none of its siblings.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows where its commands live, each an object `command` of a module."""

    def __init__(self, *args: Any, homes: Mapping[str, str], **settings: Any) -> None:
        """`homes` names each command's module."""
        super().__init__(*args, **settings)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in alphabetical order."""
        return sorted(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self._homes:
            return None
        command: click.Command = import_module(self._homes[cmd_name]).command
        return command
