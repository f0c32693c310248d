"""`contextecho anchors`: list and show what may bring a model back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show

if TYPE_CHECKING:
    from contextecho.contexts import Anchor

_ROW = "{id:<9} {messages:>8} {characters:>11}  {title}"
_HEADS = ("id", "messages", "characters", "title")


@click.group()
def command() -> None:
    """List and show the anchors: what is said before a question to bring a model back."""


@command.command("list")
@json_option
def list_anchors(as_json: bool) -> None:
    """List the bundled anchors."""
    from contextecho.contexts import anchor_ids, load_anchor

    summaries = [_summary(load_anchor(anchor_id)) for anchor_id in anchor_ids()]
    if as_json:
        print_json(summaries)
    else:
        for row in ({head: head for head in _HEADS}, *summaries):
            show(_ROW.format(**row))
    say_next("anchors", "show", "A")


@command.command("show")
@click.argument("anchor", metavar="ANCHOR")
@json_option
def show_anchor(anchor: str, as_json: bool) -> None:
    """Show one anchor as the YAML file that it could be.

    A bundled one by its id, or a file by its path.
    """
    from contextecho.contexts import load_anchor, written_anchor

    loaded = load_anchor(anchor)
    if as_json:
        print_json(loaded)
    else:
        show(written_anchor(loaded).rstrip())
    say_next("probe", "SESSION", "--target", "MODEL", "--anchor", anchor)


def _summary(anchor: Anchor) -> dict[str, Any]:
    return {
        "id": anchor.id,
        "title": anchor.title,
        "messages": len(anchor.messages),
        "characters": sum(len(message.text) for message in anchor.messages),
        "sha256": anchor.sha256,
    }
