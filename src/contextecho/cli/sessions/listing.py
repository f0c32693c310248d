"""`contextecho sessions list`: what sessions are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import say_copies, say_reading, say_sub_agents, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next
from contextecho.cli.sessions.tables import COUNTS, number, print_sessions, size
from contextecho.errors import SessionError, UsageError

if TYPE_CHECKING:
    from contextecho.sessions import FoundSession

_COLUMNS = ("prompts", "steps", "compactions")


@click.command("list")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@json_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), metavar="N")
def command(paths: tuple[Path, ...], as_json: bool, limit: int) -> None:
    """List sessions, the newest first: below each PATH, or where clients keep them.

    Knows the folders of Claude Code, Codex CLI, Gemini CLI, OpenCode, Copilot CLI, pi and
    OpenHands. Files that hold no conversation are listed with the reason. What was read is
    remembered until a file changes.
    """
    from contextecho.sessions import retention_warning, survey

    for path in paths:
        if not path.exists():
            raise SessionError("no such file or directory", where=str(path))
    found = survey(paths or None, processes=None, on_reading=say_reading)
    for error in found.unread:
        say_unread(error)
    rows = [_row(session) for session in found.sessions[:limit]]
    warning = None if paths else retention_warning()
    if as_json:
        print_json(
            {
                "sessions": rows,
                "found": len(found.sessions),
                "shown": len(rows),
                "sub_agents": found.sub_agents,
                "copies": found.copies,
                "unread": [{"path": error.where, "reason": error.what} for error in found.unread],
                "note": warning,
            }
        )
    else:
        _print_list(rows)
    if len(found.sessions) > len(rows):
        older = len(found.sessions) - len(rows)
        say(f"{older} older ones not shown (--limit {len(found.sessions)} shows all).")
    say_sub_agents(found.sub_agents)
    say_copies(found.copies)
    if warning:
        say(warning)
    if not found.sessions:
        raise _nothing_found(paths)
    readable = [row for row in rows if row["error"] is None]
    if readable:
        say_next("scan", readable[0]["name"])


def _nothing_found(paths: Sequence[Path]) -> UsageError:
    from contextecho.sessions import session_roots

    where = ", ".join(str(folder) for folder in paths or session_roots())
    return UsageError(
        "no sessions found",
        where=where or "no client folder on this machine",
        todo="name a file, contextecho scan PATH, or try contextecho demo",
    )


def _row(found: FoundSession) -> dict[str, Any]:
    """One line of the list; a file that cannot be read bears the reason."""
    from contextecho.scoring import suitability_of

    summary = found.summary
    suitability = suitability_of(summary)
    return {
        "name": found.name,
        "path": str(found.path),
        "member": summary.member,
        "id": summary.id,
        "format": summary.format,
        "bytes": found.bytes,
        "modified": _iso(found.modified),
        **{name: getattr(summary, name) for name in (*COUNTS, "compactions")},
        "final_texts": summary.final_texts,
        "commentary_texts": summary.commentary_texts,
        "models": list(summary.models),
        "suits": list(suitability.suits),
        "lacks": suitability.lacks,
        "error": summary.error,
    }


def _print_list(rows: Sequence[dict[str, Any]]) -> None:
    heads = ("modified", "size", "format", *_COLUMNS, "suits", "models", "session")
    body = []
    for row in rows:
        counts = [number(row[name]) for name in _COLUMNS]
        suits = "-" if row["error"] else ", ".join(row["suits"]) or "too short"
        says = row["error"] or ", ".join(row["models"])
        when = datetime.fromisoformat(row["modified"]).astimezone().strftime("%Y-%m-%d %H:%M")
        body.append((when, size(row["bytes"]), row["format"], *counts, suits, says, row["name"]))
    print_sessions(heads, body, right=("size", *_COLUMNS))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
