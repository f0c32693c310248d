"""What sessions are on this machine, and how long they will stay.

The one thing to know: Claude Code deletes transcripts after 30 days unless its
settings say otherwise, so a session worth measuring should be copied away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from contextecho.errors import SessionError
from contextecho.sessions.jsontext import decode_json
from contextecho.sessions.reading import format_of
from contextecho.sessions.stamp import unreadable

DEFAULT_RETENTION_DAYS: Final = 30


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """A file that looks like a session; it has not been read yet."""

    path: Path
    format: str
    bytes: int
    modified: float  # seconds since 1970


def session_roots(
    env: Mapping[str, str] = os.environ, home: Path | None = None
) -> tuple[Path, ...]:
    """The folders in which clients keep their sessions, those that exist.

    `CLAUDE_CONFIG_DIR` (one folder, or several with commas) stands before the
    two default folders of Claude Code.
    """
    home = home or Path(env.get("HOME") or Path.home())
    named = [part.strip() for part in env.get("CLAUDE_CONFIG_DIR", "").split(",")]
    folders = [Path(os.path.expanduser(part)) for part in named if part]  # noqa: PTH111 (never raises)
    folders += [home / ".claude", home / ".config" / "claude"]
    return tuple(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def discover(
    roots: Sequence[Path] | None = None,
    env: Mapping[str, str] = os.environ,
    *,
    on_unread: Callable[[SessionError], None] = lambda _: None,
) -> list[FoundSession]:
    """All sessions below `roots` (default: this machine's), the newest first.

    Files are told by their first lines. Sub-agents' files belong to a session
    and are not listed (`sub_agent_files` has them); nor are empty files, of
    which clients leave many. `on_unread` is told of folders and files that cannot be read.
    """

    def missed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # a client that has kept nothing yet
            on_unread(unreadable(Path(error.filename or "?"), error))

    folders = _folders(roots, env)
    found = {os.path.realpath(p): p for folder in folders for p in _candidates(folder, missed)}
    looked = (_look_at(path, missed) for path in found.values())
    sessions = [session for session in looked if session is not None]
    return sorted(sessions, key=lambda session: (-session.modified, str(session.path)))


def sub_agent_files(
    roots: Sequence[Path] | None = None, env: Mapping[str, str] = os.environ
) -> list[Path]:
    """The files that `discover` passes over because their names say a sub-agent's."""
    folders = _folders(roots, env)
    found = {os.path.realpath(p): p for folder in folders for p in folder.rglob("*.jsonl")}
    return sorted(path for path in found.values() if is_sub_agents(path) and path.is_file())


def is_sub_agents(path: Path) -> bool:
    """Whether a file's name and place are those of a sub-agent's."""
    return path.name.startswith("agent-") or "subagents" in path.parts


def retention_warning(env: Mapping[str, str] = os.environ, home: Path | None = None) -> str | None:
    """A sentence about the client's deletion of old sessions; `None` without a client."""
    roots = session_roots(env, home)
    if not roots:
        return None
    days = next((days for root in roots if (days := _retention_days(root)) is not None), None)
    if days is None:
        return (
            f"Claude Code deletes sessions after {DEFAULT_RETENTION_DAYS} days; "
            "set cleanupPeriodDays in its settings.json, or copy what you want to keep."
        )
    return f"Claude Code deletes sessions after {days} days (cleanupPeriodDays)."


def _folders(roots: Sequence[Path] | None, env: Mapping[str, str]) -> Sequence[Path]:
    return [root / "projects" for root in session_roots(env)] if roots is None else roots


def _candidates(root: Path, missed: Callable[[OSError], None]) -> Iterator[Path]:
    """Files below `root` that may be sessions; `root` itself if it is a file."""
    if root.is_file():
        yield root
        return
    for folder, folders, files in os.walk(root, onerror=missed):
        folders[:] = sorted(name for name in folders if name != "subagents")
        for name in sorted(files):
            if name.endswith((".jsonl", ".json")) and not name.startswith("agent-"):
                yield Path(folder) / name


def _look_at(path: Path, missed: Callable[[OSError], None]) -> FoundSession | None:
    try:
        status = path.stat()
        format = format_of(path) if status.st_size else None
    except OSError as error:
        missed(OSError(error.errno, error.strerror, str(path)))
        return None
    if format is None:
        return None
    return FoundSession(path=path, format=format, bytes=status.st_size, modified=status.st_mtime)


def _retention_days(root: Path) -> int | None:
    """`cleanupPeriodDays` of this client folder, if it is set."""
    try:
        settings = decode_json((root / "settings.json").read_bytes())
    except OSError:
        return None
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) else None
