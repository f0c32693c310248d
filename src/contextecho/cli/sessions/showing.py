"""`contextecho sessions show`: what one session holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import find_session
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next
from contextecho.cli.sessions.tables import (
    COUNTS,
    number,
    print_files,
    print_table,
    size,
    time_shown,
)
from contextecho.counting import counted
from contextecho.moments import local_iso

if TYPE_CHECKING:
    from contextecho.sessions import Compaction, Session, Sidechain


@click.command("show")
@click.argument("session")
@json_option
def command(session: str, as_json: bool) -> None:
    """Show what SESSION holds, and what of it was left out.

    SESSION is a path, the beginning of an id, or `latest`.
    """
    found = find_session(session)
    if as_json:
        print_json(_document(found))
    else:
        _print_session(found)
    say_next("scan", found.name)


def _document(session: Session) -> dict[str, Any]:
    """Everything about a session but its text and its turns."""
    import msgspec

    from contextecho.sessions import times_of

    first, last = times_of(session)
    return {
        **{name: getattr(session, name) for name in ("id", "format", "sha256", "bytes")},
        "path": str(session.path),
        "member": session.member,
        "files": [msgspec.structs.asdict(f) | {"path": str(f.path)} for f in session.files],
        "cwd": session.cwd,
        "forked_from": session.forked_from,
        "first_time": local_iso(first),
        "last_time": local_iso(last),
        **{name: getattr(session, name) for name in COUNTS},
        "prompt_kinds": session.prompt_kinds,
        "inherited_prompts": session.inherited_prompts,
        "tool_calls": _tool_calls(session),
        "abandoned_turns": sum(turn.abandoned for turn in session.turns),
        "models": session.models,
        "versions": session.versions,
        "compactions": [msgspec.to_builtins(c) for c in session.compactions],
        "sidechains": [_sidechain(s) for s in session.sidechains],
        "skipped": [msgspec.to_builtins(s) for s in session.skipped],
    }


def _print_session(session: Session) -> None:
    from contextecho.sessions import is_packed

    abandoned = sum(turn.abandoned for turn in session.turns)
    unpacked = " unpacked" if session.path.is_file() and is_packed(session.path) else ""
    facts = [
        ("session", session.id),
        ("file", f"{session.name} ({session.format}, {size(session.bytes)}{unpacked})"),
        ("folder", session.cwd or "not recorded"),
        ("time", _times(session)),
        ("prompts", f"{counted(session.prompts, 'message')} that a human wrote{_kinds(session)}"),
        ("steps", f"{counted(session.steps, 'message')} of the model"),
        ("tool calls", f"{counted(_tool_calls(session), 'call')} by the model"),
        ("row turns", f"{counted(session.row_turns, 'row')}, as the first paper counts"),
        ("abandoned", f"{counted(abandoned, 'turn')} on branches that a rewind left behind"),
        ("models", ", ".join(session.models) or "not recorded"),
        ("client", ", ".join(session.versions) or "not recorded"),
        ("compactions", str(len(session.full_compactions))),
    ]
    print_table(("", ""), facts)
    print_files(session)
    if session.compactions:
        heads = ("kind", "trigger", "tokens before", "after", "line", "row turn", "step", "prompt")
        print_table(heads, [_compaction(c) for c in session.compactions], right=heads[2:])
    if session.sidechains:
        columns = ("sub-agent", "kind", "records", "models", "started by")
        print_table(columns, [_agent(s) for s in session.sidechains], right=("records",))
    if session.skipped:
        left_out = [(s.reason, str(s.count), str(s.first_line)) for s in session.skipped]
        print_table(("not in the turns", "times", "first line"), left_out, right=("times",))


def _kinds(session: Session) -> str:
    """On what occasions, and how many in another session; nothing if all were typed in this."""
    words = [f"{count} {kind}" for kind, count in session.prompt_kinds.items() if count]
    kinds = f": {', '.join(words)}" if len(words) > 1 or session.inherited else ""
    inherited = session.inherited_prompts
    return f"{kinds}; {inherited} in the session that it goes on from" if inherited else kinds


def _tool_calls(session: Session) -> int:
    from contextecho.sessions import Kind, Speaker

    return sum(
        turn.kind is Kind.TOOL_CALL and turn.speaker is Speaker.MODEL for turn in session.turns
    )


def _times(session: Session) -> str:
    """First turn to last, and what lies between."""
    from contextecho.sessions import times_of

    first, last = times_of(session)
    if first is None or last is None:
        return "not recorded"
    return f"{time_shown(first)} to {time_shown(last)} ({_duration(max(0.0, last - first))})"


def _duration(seconds: float) -> str:
    """In the largest unit of which there are two or more, rounded down."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit)
    return counted(int(seconds), "second")


def _sidechain(agent: Sidechain) -> dict[str, Any]:
    """Everything about a sub-agent; its path as text."""
    import msgspec

    return msgspec.structs.asdict(agent) | {"path": str(agent.path)}


def _agent(agent: Sidechain) -> tuple[str, ...]:
    models = ", ".join(agent.models)
    return (agent.agent_id, agent.kind or "-", str(agent.records), models, agent.call_id or "-")


def _compaction(event: Compaction) -> tuple[str, ...]:
    tokens = (number(event.tokens_before), number(event.tokens_after))
    places = (event.line, event.row_turn, event.step, event.prompt)
    return (event.kind, event.trigger or "-", *tokens, *map(str, places))
