"""`contextecho stimuli`: list and show what a model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show

if TYPE_CHECKING:
    from contextecho.stimuli import Battery


@click.group()
def command() -> None:
    """List and show what a model is asked."""


@command.command("list")
@json_option
def list_batteries(as_json: bool) -> None:
    """List the bundled batteries."""
    from contextecho.stimuli import battery_ids, load_battery

    summaries = [_summary(load_battery(battery_id)) for battery_id in battery_ids()]
    if as_json:
        print_json(summaries)
    else:
        _print_table(summaries)
    say_next("stimuli", "show", "coding-self", "--wordings")


@command.command("show")
@click.argument("battery", metavar="BATTERY")
@click.option("--wordings", is_flag=True, help="Show every wording, not only the first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (all wordings).")
def show_battery(battery: str, wordings: bool, as_json: bool) -> None:
    """Show one battery.

    A bundled one by its id, or a YAML file by its path.
    """
    from contextecho.stimuli import load_battery

    loaded = load_battery(battery)
    if as_json:
        print_json(loaded)
    else:
        _print_battery(loaded, wordings)
    say_next("plan", "SESSION", "--target", "MODEL", "--battery", battery)


def _summary(battery: Battery) -> dict[str, Any]:
    return {
        "id": battery.id,
        "version": battery.version,
        "kind": battery.stimuli[0].kind.value,
        "stimuli": len(battery.stimuli),
        "wordings": len(battery.stimuli[0].wordings),
        "framed": battery.framing is not None,
        "licence": battery.licence,
        "source": battery.source,
        "sha256": battery.sha256,
    }


def _print_table(summaries: list[dict[str, Any]]) -> None:
    row = "{id:<18} {version:<7} {kind:<16} {stimuli:>7} {wordings:>8}  {framed:<6} {licence:<9}  "
    heads = ("id", "version", "kind", "stimuli", "wordings", "framed", "licence")
    show(row.format(**{head: head for head in heads}) + "sha256")
    for summary in summaries:
        framed = "yes" if summary["framed"] else "no"
        show(row.format(**{**summary, "framed": framed}) + summary["sha256"][:16])


def _print_battery(battery: Battery, wordings: bool) -> None:
    show(f"{battery.id}, version {battery.version}")
    show(f"licence  {battery.licence}")
    show(f"source   {battery.source}")
    show(f"sha256   {battery.sha256}")
    show(f"framing  {battery.framing or 'none'}")
    count = len(battery.stimuli[0].wordings)
    first_only = count > 1 and not wordings
    show(f"wordings {count}{'; the first is shown, --wordings shows all' * first_only}")
    for stimulus in battery.stimuli:
        show(f"\n{stimulus.id}  {stimulus.category}  ({stimulus.kind})")
        shown = stimulus.wordings if wordings else stimulus.wordings[:1]
        for number, wording in enumerate(shown, start=1):
            show(f"  {number:>2}  {wording}")
        if stimulus.check:
            show(f"  check {stimulus.check}")
        if stimulus.answers:
            show(f"  answer {' or '.join(stimulus.answers)}")
