"""`contextecho sessions`: what sessions are on this machine, and what one of them holds."""

from __future__ import annotations

import click

from contextecho.cli.sessions import checking, converting, keeping, listing, showing


@click.group()
def command() -> None:
    """List, show, check, keep and convert the sessions on this machine."""


for part in (listing, showing, checking, keeping, converting):
    command.add_command(part.command)
