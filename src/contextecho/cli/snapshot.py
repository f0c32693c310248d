"""`contextecho snapshot`: print, byte for byte, what a model would be shown.

The one thing to know: standard output carries the snapshot and nothing else, no
newline at its end, so that a hash of it is a hash of what is sent. Only on a
terminal, which control characters from a session could steer, are these named.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import read_text
from contextecho.cli.printing import say, say_next
from contextecho.untrusted import make_visible

if TYPE_CHECKING:
    from contextecho.contexts import Context, Position, Snapshot
    from contextecho.sessions import Session


@click.command()
@click.argument("session", type=click.Path(path_type=Path))
@click.option(
    "--at",
    "place",
    required=True,
    metavar="TURN",
    help="Row turn, or step:N, prompt:N, line:N, last.",
)
@click.option(
    "--protocol", "protocol_id", default="strict", show_default=True, help="strict or published."
)
@click.option("--arm", default="session", show_default=True, help="scratch, control, session, ...")
@click.option("--rendering", default=None, help="native, native-text or quoted.")
@click.option("--budget", type=int, default=None, help="Tokens (strict) or characters (published).")
@click.option("--anchor", default="A", show_default=True, help="Recipe of the anchored arms.")
@click.option(
    "--placement",
    type=click.Choice(["user", "system"]),
    default="user",
    show_default=True,
    help="Where the anchor goes.",
)
@click.option(
    "--system",
    "system_file",
    type=click.Path(path_type=Path),
    help="The deployer's own system prompt.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "messages", "json"]),
    default="text",
    show_default=True,
    help="Readable text, a JSON array of messages, or everything with hashes.",
)
def command(
    session: Path,
    place: str,
    protocol_id: str,
    arm: str,
    rendering: str | None,
    budget: int | None,
    anchor: str,
    placement: str,
    system_file: Path | None,
    form: str,
) -> None:
    """Print, byte for byte, what a model would be shown at one point of SESSION."""
    from contextecho.contexts import (
        EstimateCounter,
        apply_arm,
        load_anchor,
        load_protocol,
        parse_arm,
        parse_rendering,
        take_snapshot,
    )
    from contextecho.sessions import read_session

    protocol = load_protocol(protocol_id)
    wanted = parse_arm(arm)
    read = read_session(session)
    counter = EstimateCounter()
    snapshot = take_snapshot(
        read,
        _position(read, place, protocol_id),
        protocol,
        counter=counter,
        budget=budget,
        rendering=parse_rendering(rendering) if rendering else None,
        system=read_text(system_file, "--system") if system_file else None,
    )
    context = apply_arm(
        snapshot,
        wanted,
        protocol,
        counter=counter,
        anchor=load_anchor(anchor) if wanted.anchored else None,
        placement="system" if placement == "system" else "user",
    )
    plain = protocol_id == "published" and not wanted.anchored
    _write(_render(form, snapshot, context, arm, prefix_only=plain))
    position = snapshot.position
    say(
        f"{position.label}: row turn {position.row_turn}, step {position.step}, "
        f"prompt {position.prompt}, line {position.line}"
    )
    say_next("plan", session, "--target", "PROVIDER/MODEL", "--positions", position.row_turn)


def _write(text: str) -> None:
    """All bytes to a pipe or a file; without control characters to a terminal."""
    if sys.stdout.isatty():
        text = make_visible(text) + "\n"
    click.echo(text.encode(), nl=False)


def _position(session: Session, place: str, protocol_id: str) -> Position:
    """One position; the published protocol moves one past the end back to it, and says so."""
    from contextecho.contexts import find_positions
    from contextecho.errors import UsageError

    if "," in place or place.partition(":")[0] in ("compactions", "even", "onset"):
        raise UsageError(f'"{place}" is not one position', todo="use a row turn, step:N or last")
    if protocol_id == "published" and place.isdecimal() and int(place) > session.row_turns > 0:
        say(
            f"the session ends at row turn {session.row_turns}: shown is that one, "
            "as the published protocol does"
        )
        place = "last"
    (position,) = find_positions(session, place)
    return position


def _render(form: str, snapshot: Snapshot, context: Context, arm: str, *, prefix_only: bool) -> str:
    import msgspec

    from contextecho.contexts import readable

    if form == "messages":
        return msgspec.json.encode(context.messages).decode()
    if form == "json":
        return msgspec.json.encode(_document(snapshot, context, arm)).decode()
    if prefix_only:
        return context.messages[0].text if context.messages else ""
    return readable(context)


def _document(snapshot: Snapshot, context: Context, arm: str) -> dict[str, Any]:
    """Everything about the snapshot; `context` and its counts are those of the arm."""
    import msgspec

    from contextecho.contexts import EstimateCounter, context_tokens

    return {
        **msgspec.structs.asdict(snapshot),
        "arm": arm,
        "context": context,
        "context_sha256": context.sha256,
        "chars": context.chars,
        "tokens": context_tokens(context, EstimateCounter()),
    }
