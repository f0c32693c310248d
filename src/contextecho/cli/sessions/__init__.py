"""`contextecho sessions`: what sessions are on this machine, and what one of them holds."""

from __future__ import annotations

import click

from contextecho.cli.groups import LazyGroup

_PARTS = {
    "check": "checking",
    "convert": "converting",
    "keep": "keeping",
    "list": "listing",
    "show": "showing",
}


@click.group(cls=LazyGroup, homes={name: f"{__name__}.{part}" for name, part in _PARTS.items()})
def command() -> None:
    """List, show, check, keep and convert the sessions on this machine."""
