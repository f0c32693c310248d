"""`contextecho sessions list`: what sessions are on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import (
    end_with,
    others_said,
    say_continued,
    say_copies,
    say_earlier,
    say_links,
    say_reading,
    say_strangers,
    say_sub_agents,
    say_unread,
    why_no_session,
)
from contextecho.cli.options import json_option
from contextecho.cli.printing import command_line, print_json, say, say_next, say_next_plan
from contextecho.cli.sessions.filters import Filters, read_since
from contextecho.cli.sessions.tables import (
    COUNTS,
    CUT_SHORT,
    from_home,
    number,
    print_sessions,
    size,
    time_shown,
)
from contextecho.counting import counted
from contextecho.errors import SessionError, UsageError
from contextecho.moments import local_iso

if TYPE_CHECKING:
    from contextecho.sessions import FoundSession, Survey

_COLUMNS = ("prompts", "steps", "compactions")
_USES = ("scan", "trajectory", "compactions")


@click.command("list")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@json_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), metavar="N")
@click.option("--client", metavar="NAME", help="Only formats with NAME in their name: codex.")
@click.option("--model", metavar="TEXT", help="Only those with a model with TEXT in its name.")
@click.option(
    "--since", callback=read_since, metavar="DATE|7d", help="Only those last used since then."
)
@click.option("--suits", type=click.Choice(_USES), help="Only those long enough for that.")
def command(
    paths: tuple[Path, ...],
    as_json: bool,
    limit: int,
    client: str | None,
    model: str | None,
    since: float | None,
    suits: str | None,
) -> None:
    """List sessions, the newest first.

    Those below each PATH, or where clients keep them. Knows the folders of Claude Code,
    Codex CLI, Gemini CLI, OpenCode, Copilot CLI, pi and OpenHands. Newest is whose last
    turn is; where a file has no times, when it was last written counts. Files that hold no
    conversation stand last, with the reason. What was read is remembered until a file
    changes.
    """
    from contextecho.sessions import retention_warning, survey

    filters = Filters(client=client, model=model, since=since, suits=suits)
    exist = [path for path in paths if path.exists()]
    found = survey(exist if paths else None, processes=None, on_reading=say_reading)
    wrong = _wrong(paths, found.sessions)
    sessions = filters.admitted(found.sessions)
    named = {error.where for error in wrong}
    strangers = [error for error in found.strangers if error.where not in named]
    for error in found.unread:
        say_unread(error)
    say_strangers(strangers)
    say_links(found.links)
    if not sessions:
        end_with(wrong)
        raise _nothing_found(paths, filters, found)
    shown = sessions[:limit]
    warning = None if paths else retention_warning()
    if as_json:
        unread = [*found.unread, *strangers, *wrong]
        print_json(
            {
                "sessions": [_row(session) for session in shown],
                "found": len(sessions),
                "shown": len(shown),
                "sub_agents": found.sub_agents,
                "copies": found.copies,
                "earlier_states": found.earlier,
                "continued": found.continued,
                "unread": [{"path": error.where, "reason": error.what} for error in unread],
                "note": warning,
            }
        )
    else:
        _print_list(shown)
    if len(sessions) > len(shown):
        older = len(sessions) - len(shown)
        say(f"{older} older ones not shown (--limit {len(sessions)} shows all).")
    say_sub_agents(found.sub_agents)
    say_copies(found.copies)
    say_earlier(found.earlier)
    say_continued(found.continued)
    _say_inherited(sessions)
    if warning:
        say(warning)
    _say_next(sessions)
    end_with(wrong)


def _wrong(paths: Sequence[Path], sessions: Sequence[FoundSession]) -> list[SessionError]:
    """Why files that the user named are not listed."""
    files = [path for path in paths if not path.is_dir()]
    listed = {session.path.resolve() for session in sessions} if files else set[Path]()
    reasons = (why_no_session(path) for path in files if path.resolve() not in listed)
    return [reason for reason in reasons if reason is not None]


def _say_inherited(sessions: Sequence[FoundSession]) -> None:
    """How many prompts a sum over the list counts again."""
    inherited = [
        session.inherited_prompts or 0
        for session in sessions
        if session.repeated or session.summary.inherited_prompts
    ]
    if inherited:
        forks, prompts = counted(len(inherited), "fork"), counted(sum(inherited), "prompt")
        say(f"{forks} with {prompts} said in other sessions before")


def _say_next(sessions: Sequence[FoundSession]) -> None:
    """What the newest session that suits something suits; nothing where none does."""
    from contextecho.scoring import TRAJECTORY_STEPS, suitability_of

    for session in sessions:
        suits = suitability_of(session.summary).suits
        if "scan" in suits:
            say_next("scan", session.name)
        elif "trajectory" in suits:
            say_next_plan(session.name, TRAJECTORY_STEPS)
        elif suits:
            say_next_plan(session.name)
        if suits:
            return


def _nothing_found(paths: Sequence[Path], filters: Filters, found: Survey) -> UsageError:
    from contextecho.sessions import session_roots

    where = ", ".join(str(folder) for folder in paths or session_roots())
    if found.sessions:
        return UsageError(
            "no session is what the options ask for", where=where, todo="list with fewer of them"
        )
    return UsageError(
        f"no sessions found{others_said(found.others)}",
        where=where or "no client folder on this machine",
        todo=_where_else(paths, found),
    )


def _where_else(paths: Sequence[Path], found: Survey) -> str:
    """What to do where a list is empty."""
    if paths and found.tried:
        return f"{command_line('scan', *paths)} says why"
    return "name a file or another folder, or try contextecho demo"


def _row(found: FoundSession) -> dict[str, Any]:
    """One session of the document; a file that cannot be read bears the reason."""
    from contextecho.scoring import suitability_of

    summary = found.summary
    suitability = suitability_of(summary)
    return {
        "name": found.name,
        "path": str(found.path),
        "member": summary.member,
        "id": summary.id,
        "format": summary.format,
        "folder": _folder(found),
        "bytes": found.bytes,
        "modified": local_iso(found.modified),
        "last_used": local_iso(found.last_used),
        "dated_by": "turns" if found.is_dated_by_turns else "file",
        "first_time": local_iso(summary.first_time),
        "last_time": local_iso(summary.last_time),
        **{name: getattr(summary, name) for name in (*COUNTS, "compactions")},
        "inherited_prompts": found.inherited_prompts,
        "final_texts": summary.final_texts,
        "commentary_texts": summary.commentary_texts,
        "models": list(summary.models),
        "suits": list(suitability.suits),
        "lacks": suitability.lacks,
        "is_cut": summary.is_cut,
        "error": summary.error,
    }


def _folder(found: FoundSession) -> str:
    """Where the agent worked; else the part of the path that the client named after that."""
    folders = found.path.absolute().parent.parts
    if found.summary.cwd is not None:
        return found.summary.cwd
    return folders[folders.index("projects") + 1] if "projects" in folders[:-1] else folders[-1]


def _print_list(sessions: Sequence[FoundSession]) -> None:
    heads = ("last used", "size", "format", *_COLUMNS, "suits", "folder", "models", "lacks")
    rows = [_cells(session) for session in sessions]
    print_sessions((*heads, "session"), rows, right=("size", *_COLUMNS))


def _cells(found: FoundSession) -> tuple[str, ...]:
    from contextecho.scoring import suitability_of

    summary = found.summary
    suitability = suitability_of(summary)
    scan = suitability.lacks.get("scan")
    return (
        time_shown(found.last_used) + ("" if found.is_dated_by_turns else " (file)"),
        size(found.bytes),
        summary.format,
        *(number(getattr(summary, name)) for name in _COLUMNS),
        "-" if summary.error else ", ".join(suitability.suits) or "too short",
        from_home(_folder(found)),
        ", ".join(summary.models),
        summary.error or "; ".join(_lacks(summary.is_cut, scan)),
        from_home(found.name),
    )


def _lacks(is_cut: bool, scan: str | None) -> Iterator[str]:
    if is_cut:
        yield CUT_SHORT
    if scan:
        yield f"scan {scan}"
