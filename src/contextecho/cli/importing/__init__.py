"""`contextecho import`: what others collected, brought into the store."""

from __future__ import annotations

import click

from contextecho.cli.groups import LazyGroup


@click.group(cls=LazyGroup, homes={"release": f"{__name__}.release"})
def command() -> None:
    """Bring what others collected into the store, apart from what was collected here."""
