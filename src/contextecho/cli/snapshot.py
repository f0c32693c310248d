"""`contextecho snapshot`: print, byte for byte, what a model would be shown.

The one thing to know: standard output carries the snapshot and nothing else, no
newline at its end, so that a hash of it is a hash of what is sent. Only on a
terminal, which control characters from a session could steer, are these named.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import find_session, read_text
from contextecho.cli.options import ARM, PLACEMENT, PROTOCOL, RENDERING
from contextecho.cli.printing import say, say_next
from contextecho.counting import counted
from contextecho.untrusted import make_visible

if TYPE_CHECKING:
    from contextecho.contexts import Context, Decoding, Position, Protocol, Snapshot, TokenCounter
    from contextecho.sessions import Session

_PLACE = re.compile("last|((step|prompt|line):)?0*[1-9][0-9]*")
QUESTION = "QUESTION"  # stands in a body where each question stands


@click.command()
@click.argument("session")
@click.option(
    "--at",
    "place",
    default="last",
    show_default=True,
    metavar="TURN",
    help="Row turn, or step:N, prompt:N, line:N, last.",
)
@click.option("--protocol", "protocol_id", type=PROTOCOL, default="strict", show_default=True)
@click.option("--arm", type=ARM, default="session", show_default=True)
@click.option("--rendering", type=RENDERING)
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    metavar="PROVIDER/MODEL",
    help="As `plan` and `probe` with these targets show it: counted and rendered for them.",
)
@click.option(
    "--context",
    "--budget",
    "budget",
    type=int,
    metavar="LENGTH",
    help="Longest prefix, in tokens (strict) or characters (published).",
)
@click.option("--anchor", default="A", show_default=True, help="Recipe of the anchored arms.")
@click.option(
    "--placement",
    type=PLACEMENT,
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
    type=click.Choice(["text", "messages", "json", "openai", "anthropic"]),
    default="text",
    show_default=True,
    help="Readable text, messages as a JSON array, everything with hashes, or the body of a "
    "request on that wire.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
def command(session: str, form: str, as_json: bool, **choices: Any) -> None:
    """Print, byte for byte, what a model would be shown at one point of SESSION.

    SESSION is a path, or `latest`.
    """
    from contextecho.api import counter_for

    form = "json" if as_json else form
    targets = choices["targets"]
    asked = _asked_on(form, targets)
    read = find_session(session)
    counter = counter_for(targets)
    snapshot, context, protocol, limit = _take(read, counter, choices)
    bare = form == "text" and protocol.id == "published" and "anchor" not in choices["arm"]
    if asked is not None:
        _write(_body(asked, context, protocol.decoding))
        say(f"{QUESTION} stands where each question stands")
    elif form == "json":
        document = _document(snapshot, context, choices["arm"], counter)
        _write(_json({**document, "session_sha256": read.sha256}))
    else:
        _write(_json(context.messages) if form == "messages" else _text(context, prefix_only=bare))
    if asked is None:
        first = "the acknowledgement, and then " if bare else ""
        say(f"after it {first}the framing and a question are sent, as one user message")
    _say_what(snapshot, counter, limit, protocol.budget_unit)
    named = [word for target in targets or ("PROVIDER/MODEL",) for word in ("--target", target)]
    say_next("plan", session, *named, "--positions", snapshot.position.row_turn)


def _take(
    session: Session, counter: TokenCounter, choices: dict[str, Any]
) -> tuple[Snapshot, Context, Protocol, int]:
    """The snapshot, what the chosen arm makes of it, and the rules and budget that held."""
    from contextecho.api import shown_to
    from contextecho.contexts import (
        apply_arm,
        load_anchor,
        load_protocol,
        parse_arm,
        parse_placement,
        parse_rendering,
        take_snapshot,
    )

    protocol, arm = load_protocol(choices["protocol_id"]), parse_arm(choices["arm"])
    fitting = shown_to(choices["targets"], protocol)
    rendering = choices["rendering"] or fitting["rendering"]
    limit = fitting["budget_tokens"] if choices["budget"] is None else choices["budget"]
    system = choices["system_file"]
    snapshot = take_snapshot(
        session,
        _position(session, choices["place"], protocol.id),
        protocol,
        counter=counter,
        budget=limit,
        rendering=parse_rendering(rendering) if rendering else None,
        system=read_text(system, "--system") if system else None,
    )
    if not system and snapshot.context.system == session.system:
        say("the system prompt is the session's own")
    context = apply_arm(
        snapshot,
        arm,
        protocol,
        counter=counter,
        anchor=load_anchor(choices["anchor"]) if arm.anchored else None,
        placement=parse_placement(choices["placement"]),
    )
    return snapshot, context, protocol, limit or protocol.budget


def _say_what(snapshot: Snapshot, counter: TokenCounter, limit: int, unit: str) -> None:
    """Where in the session the snapshot is, how long, and what did not fit."""
    position = snapshot.position
    say(
        f"{position.label}: row turn {position.row_turn}, step {position.step}, "
        f"prompt {position.prompt}, line {position.line}"
    )
    left_out = counted(snapshot.dropped_turns, "earlier turn")
    say(
        f"{snapshot.chars:,} characters, {snapshot.tokens:,} tokens by {counter.name}; "
        f"the budget is {limit:,} {unit}, "
        f"and {left_out} of the segment {'is' if snapshot.dropped_turns == 1 else 'are'} left out"
    )


def _write(text: str) -> None:
    """All bytes to a pipe or a file; without control characters to a terminal."""
    if sys.stdout.isatty():
        text = make_visible(text) + "\n"
    click.echo(text.encode(), nl=False)


def _position(session: Session, place: str, protocol_id: str) -> Position:
    """One position; the published protocol moves one past the end back to it, and says so."""
    from contextecho.contexts import find_positions
    from contextecho.errors import UsageError

    if not _PLACE.fullmatch(place):
        raise UsageError(
            f'"{place}" is not one position',
            where="--at",
            todo="use a row turn from 1 on, step:N, prompt:N, line:N or last",
        )
    if protocol_id == "published" and place.isdecimal() and int(place) > session.row_turns > 0:
        say(
            f"the session ends at row turn {session.row_turns}: shown is that one, "
            "as the published protocol does"
        )
        place = "last"
    (position,) = find_positions(session, place)
    return position


def _asked_on(form: str, targets: Sequence[str]) -> str | None:
    """The target whose body `form` prints, None for a form that is no body.

    Without a target the wire's own provider is asked, for a model called MODEL.
    """
    from contextecho.errors import UsageError
    from contextecho.models import answers_here, find_provider

    if form not in ("openai", "anthropic"):
        return None
    target = targets[0] if targets else f"{form}/MODEL"
    if answers_here(target):
        raise UsageError(
            f"{target} answers on this machine: no provider is sent a body", where="--format"
        )
    wire = find_provider(target).wire
    if wire != form:
        raise UsageError(f"{target} is asked on the wire of {wire}", todo=f"use --format {wire}")
    return target


def _body(target: str, context: Context, decoding: Decoding) -> str:
    """The body of a request on the context, as the target's wire has it."""
    from contextecho.contexts import Message, Request
    from contextecho.models import wire_body

    question = Message(role="user", text=QUESTION)
    request = Request(target=target, context=context, ask=(question,), decoding=decoding)
    return wire_body(request).decode()


def _text(context: Context, *, prefix_only: bool) -> str:
    from contextecho.contexts import readable

    if prefix_only:
        return context.messages[0].text if context.messages else ""
    return readable(context)


def _json(document: Any) -> str:
    import msgspec

    return msgspec.json.encode(document).decode()


def _document(
    snapshot: Snapshot, context: Context, arm: str, counter: TokenCounter
) -> dict[str, Any]:
    """Everything about the snapshot; `context` and its counts are those of the arm."""
    import msgspec

    from contextecho.contexts import context_tokens

    return {
        **msgspec.structs.asdict(snapshot),
        "arm": arm,
        "context": context,
        "context_sha256": context.sha256,
        "chars": context.chars,
        "tokens": context_tokens(context, counter),
    }
