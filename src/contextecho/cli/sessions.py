"""`contextecho sessions`: what sessions are on this machine, and what one of them holds."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import find_path, say_sub_agents, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.counting import counted
from contextecho.errors import SessionError, UsageError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contextecho.sessions import Compaction, FoundSession, Session, Skipped

_COUNTS = ("prompts", "steps", "row_turns")

_MOST_RUNS = 12  # of lines in a row, shown for one reason


@click.group()
def command() -> None:
    """List, show and check the sessions on this machine."""


@command.command("list")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@json_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), metavar="N")
def list_sessions(path: Path | None, as_json: bool, limit: int) -> None:
    """List sessions, the newest first: below PATH, or where Claude Code keeps them.

    Looks in CLAUDE_CONFIG_DIR (one folder, or several with commas), ~/.claude and
    ~/.config/claude. Files that hold no conversation are listed with the reason.
    """
    from contextecho.sessions import discover, retention_warning

    if path is not None and not path.exists():
        raise SessionError("no such file or directory", where=str(path))
    found = discover(None if path is None else [path], on_unread=say_unread)
    rows = [_row(session) for session in found[:limit]]
    warning = retention_warning() if path is None else None
    if as_json:
        print_json({"sessions": rows, "found": len(found), "shown": len(rows), "note": warning})
    else:
        _print_list(rows)
    if len(found) > len(rows):
        say(f"{len(found) - len(rows)} older ones not shown (--limit {len(found)} shows all).")
    say_sub_agents([] if path is None else [path])
    if warning:
        say(warning)
    if not found:
        raise _nothing_found(path)
    readable = [row for row in rows if row["error"] is None]
    if readable:
        say_next("scan", readable[0]["path"])


@command.command("show")
@click.argument("session")
@json_option
def show_session(session: str, as_json: bool) -> None:
    """Show what SESSION (a path, or `latest`) holds, and what of it was left out."""
    from contextecho.sessions import read_session

    path = find_path(session)
    found = read_session(path)
    if as_json:
        print_json(_document(found))
    else:
        _print_session(found)
    say_next("scan", path)


@command.command("check")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@json_option
def check_sessions(sessions: tuple[str, ...], as_json: bool) -> None:
    """Print what of each SESSION was left out or mended, why, and on which lines."""
    from contextecho.sessions import read_session

    read = [read_session(find_path(session)) for session in sessions]
    if as_json:
        print_json([_findings(session) for session in read])
    else:
        for session in read:
            _print_findings(session)
    say_next("sessions", "show", read[-1].path)


def _findings(session: Session) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(session.path),
        "format": session.format,
        "turns": len(session.turns),
        "skipped": [msgspec.to_builtins(s) for s in session.skipped],
    }


def _print_findings(session: Session) -> None:
    left_out = sum(skipped.count for skipped in session.skipped)
    show(f"{one_line(str(session.path))} ({session.format})")
    show(f"  {counted(len(session.turns), 'turn')}; {left_out:,} left out or mended")
    rows = [(s.reason, f"{s.count:,}", _places(s)) for s in session.skipped]
    if rows:
        _print_table(("not in the turns", "times", "lines"), rows, right=("times",))


def _places(skipped: Skipped) -> str:
    """`3, 5-9, 12 and 40 more`."""
    runs: list[list[int]] = []
    for line in skipped.lines:
        if runs and 0 <= line - runs[-1][-1] <= 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    shown = runs[:_MOST_RUNS]
    text = ", ".join(str(run[0]) if run[0] == run[-1] else f"{run[0]}-{run[-1]}" for run in shown)
    more = skipped.count - sum(map(len, shown))
    return f"{text} and {more:,} more" if more else text


def _nothing_found(path: Path | None) -> UsageError:
    from contextecho.sessions import session_roots

    looked = [path] if path is not None else session_roots()
    where = ", ".join(str(folder) for folder in looked) or "no client folder on this machine"
    return UsageError(
        "no sessions found",
        where=where,
        todo="name a file, contextecho scan PATH, or try contextecho demo",
    )


def _row(found: FoundSession) -> dict[str, Any]:
    """One line of the list; a file that cannot be read bears the reason."""
    from contextecho.sessions import read_session

    row: dict[str, Any] = {
        "path": str(found.path),
        "format": found.format,
        "bytes": found.bytes,
        "modified": _iso(found.modified),
        **dict.fromkeys((*_COUNTS, "compactions"), None),
        "models": [],
        "error": None,
    }
    try:
        session = read_session(found.path)
    except SessionError as error:
        return row | {"error": error.what}
    counts = {name: getattr(session, name) for name in _COUNTS}
    return (
        row
        | counts
        | {
            "compactions": len(session.full_compactions),
            "models": list(session.models),
        }
    )


def _document(session: Session) -> dict[str, Any]:
    """Everything about a session but its text and its turns."""
    import msgspec

    return {
        **{name: getattr(session, name) for name in ("id", "format", "sha256", "bytes")},
        "path": str(session.path),
        "cwd": session.cwd,
        **{name: getattr(session, name) for name in _COUNTS},
        "abandoned_turns": sum(turn.abandoned for turn in session.turns),
        "models": session.models,
        "versions": session.versions,
        "compactions": [msgspec.to_builtins(c) for c in session.compactions],
        "sidechains": [
            {"agent_id": s.agent_id, "path": str(s.path), "records": s.records, "models": s.models}
            for s in session.sidechains
        ],
        "skipped": [msgspec.to_builtins(s) for s in session.skipped],
    }


def _print_list(rows: Sequence[dict[str, Any]]) -> None:
    heads = ("modified", "size", "prompts", "steps", "compactions", "models", "path")
    body = []
    for row in rows:
        counts = [_number(row[name]) for name in ("prompts", "steps", "compactions")]
        says = row["error"] or ", ".join(row["models"])
        when = datetime.fromisoformat(row["modified"]).astimezone().strftime("%Y-%m-%d %H:%M")
        body.append((when, _size(row["bytes"]), *counts, says, row["path"]))
    if body and sys.stdout.isatty():
        _print_over_paths(heads, body)
    elif body:
        _print_table(heads, body)


def _print_over_paths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row over its path, which has a line to itself, unbroken, so that it can be copied."""
    cells = [[one_line(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-2]
    for when, *numbers, says, path in cells:
        aligned = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True)]
        show("  ".join((f"{when:<{widths[0]}}", *aligned, says)))
        show(f"  {path}")


def _print_session(session: Session) -> None:
    abandoned = sum(turn.abandoned for turn in session.turns)
    facts = [
        ("session", session.id),
        ("file", f"{session.path} ({session.format}, {_size(session.bytes)})"),
        ("folder", session.cwd or "not recorded"),
        ("prompts", f"{session.prompts} messages that a human wrote"),
        ("steps", f"{session.steps} messages of the model"),
        ("row turns", f"{session.row_turns} rows, as the first paper counts"),
        ("abandoned", f"{abandoned} turns on branches that a rewind left behind"),
        ("models", ", ".join(session.models) or "not recorded"),
        ("client", ", ".join(session.versions) or "not recorded"),
        ("compactions", str(len(session.full_compactions))),
    ]
    _print_table(("", ""), facts)
    if session.compactions:
        heads = ("kind", "trigger", "tokens before", "after", "line", "row turn", "step", "prompt")
        _print_table(heads, [_compaction(c) for c in session.compactions], right=heads[2:])
    if session.sidechains:
        agents = [(s.agent_id, str(s.records), ", ".join(s.models)) for s in session.sidechains]
        _print_table(("sub-agent", "records", "models"), agents, right=("records",))
    if session.skipped:
        left_out = [(s.reason, str(s.count), str(s.first_line)) for s in session.skipped]
        _print_table(("not in the turns", "times", "first line"), left_out, right=("times",))


def _compaction(event: Compaction) -> tuple[str, ...]:
    tokens = (_number(event.tokens_before), _number(event.tokens_after))
    places = (event.line, event.row_turn, event.step, event.prompt)
    return (event.kind, event.trigger or "-", *tokens, *map(str, places))


def _print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table on a terminal; tab-separated lines in a pipe. Cells are untrusted."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for line in [heads, *cells] if any(heads) else cells:
            click.echo("\t".join(line))
        return
    table = Table(box=None, show_header=any(heads), pad_edge=False)
    for head in heads:
        table.add_column(
            head, justify="right" if head in right else "left", no_wrap=head != heads[-1]
        )
    for row in cells:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    console.print(table)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _size(count: int) -> str:
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
