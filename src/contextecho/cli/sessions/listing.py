"""`contextecho sessions list`: what sessions are on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import say_sub_agents, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.cli.sessions.tables import COUNTS, number, print_table, size
from contextecho.errors import SessionError, UsageError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import FoundSession


@click.command("list")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@json_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), metavar="N")
def command(path: Path | None, as_json: bool, limit: int) -> None:
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
        **dict.fromkeys((*COUNTS, "compactions"), None),
        "models": [],
        "error": None,
    }
    try:
        session = read_session(found.path)
    except SessionError as error:
        return row | {"error": error.what}
    counts = {name: getattr(session, name) for name in COUNTS}
    return (
        row
        | counts
        | {
            "compactions": len(session.full_compactions),
            "models": list(session.models),
        }
    )


def _print_list(rows: Sequence[dict[str, Any]]) -> None:
    heads = ("modified", "size", "prompts", "steps", "compactions", "models", "path")
    body = []
    for row in rows:
        counts = [number(row[name]) for name in ("prompts", "steps", "compactions")]
        says = row["error"] or ", ".join(row["models"])
        when = datetime.fromisoformat(row["modified"]).astimezone().strftime("%Y-%m-%d %H:%M")
        body.append((when, size(row["bytes"]), *counts, says, row["path"]))
    if body and sys.stdout.isatty():
        _print_over_paths(heads, body)
    elif body:
        print_table(heads, body)


def _print_over_paths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row over its path, which has a line to itself, unbroken, so that it can be copied."""
    cells = [[one_line(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-2]
    for when, *numbers, says, path in cells:
        aligned = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True)]
        show("  ".join((f"{when:<{widths[0]}}", *aligned, says)))
        show(f"  {path}")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
