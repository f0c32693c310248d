"""`contextecho sessions`: what sessions are on this machine, and what one of them holds."""

from __future__ import annotations

import click

from contextecho.cli.sessions import checking, listing, showing


@click.group()
def command() -> None:
    """List, show and check the sessions on this machine."""


for part in (listing, showing, checking):
    command.add_command(part.command)
