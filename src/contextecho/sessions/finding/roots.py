"""Where clients keep their sessions on a machine: one table, and what of it exists here.

The one thing to know: a client that is new to us, or that moved its files, is a change
of `CLIENTS` and of nothing else. What a file is, its content says; a place only says
where to look. docs/sessions.md says for each what is documented by whom.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import msgspec


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """Where one client keeps sessions."""

    name: str
    homes: tuple[str, ...]  # its folders, below the user's home
    folders: tuple[str, ...]  # where sessions are, below each of its folders
    databases: tuple[str, ...] = ()  # names of files that hold sessions, in its folders
    # Variables that name its folder (one, or several with commas), and what lies below that.
    variables: tuple[tuple[str, str], ...] = ()
    direct: tuple[str, ...] = ()  # variables that name what holds the sessions itself


CLIENTS: Final = (
    Client(
        name="Claude Code",
        variables=(("CLAUDE_CONFIG_DIR", ""),),
        homes=(".claude", ".config/claude"),
        folders=("projects",),
    ),
    Client(
        name="Codex CLI",
        variables=(("CODEX_HOME", ""),),
        homes=(".codex",),
        folders=("sessions", "archived_sessions"),
    ),
    Client(
        name="Gemini CLI",
        variables=(("GEMINI_CLI_HOME", ".gemini"),),
        homes=(".gemini",),
        folders=("tmp",),
    ),
    Client(
        name="OpenCode",
        variables=(("XDG_DATA_HOME", "opencode"),),
        direct=("OPENCODE_DB",),
        homes=(".local/share/opencode",),
        folders=("storage", "project"),
        databases=("opencode.db", "opencode-*.db"),
    ),
    Client(
        name="Copilot CLI",
        variables=(("COPILOT_HOME", ""),),
        homes=(".copilot",),
        folders=("session-state", "history-session-state"),
    ),
    Client(
        name="pi",
        variables=(("PI_CODING_AGENT_DIR", ""),),
        direct=("PI_CODING_AGENT_SESSION_DIR",),
        homes=(".pi/agent",),
        folders=("sessions",),
    ),
    Client(
        name="OpenHands",
        variables=(("OPENHANDS_PERSISTENCE_DIR", ""),),
        direct=("OPENHANDS_CONVERSATIONS_DIR",),
        homes=(".openhands",),
        folders=("conversations", "sessions"),
    ),
)


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of a client on this machine, and what of it may hold sessions."""

    client: str
    folder: Path
    holds: tuple[Path, ...]


def find_roots(
    env: Mapping[str, str] = os.environ,
    home: Path | None = None,
    *,
    windows_homes: tuple[Path, ...] | None = None,
) -> Iterator[Root]:
    """The clients' folders that exist, those that variables name first.

    `windows_homes` are further homes to look below (default: seen from WSL, those of
    the Windows users).
    """
    home = home or Path(env.get("HOME") or env.get("USERPROFILE") or Path.home())
    homes = (home, *(homes_seen_from_wsl(env) if windows_homes is None else windows_homes))
    seen = set[Path]()
    for client in CLIENTS:
        for folder in _folders(client, env, homes):
            if folder not in seen and os.path.isdir(folder):  # noqa: PTH112 (never raises)
                seen.add(folder)
                yield Root(client=client.name, folder=folder, holds=tuple(_holding(client, folder)))
        for place in (p for name in client.direct for p in _named(env.get(name, ""))):
            if place not in seen and os.path.exists(place):  # noqa: PTH110 (never raises)
                seen.add(place)
                yield Root(client=client.name, folder=place, holds=(place,))


def is_database(name: str) -> bool:
    """Whether a file of this name is a database in which a client keeps sessions."""
    return any(fnmatch(name, pattern) for client in CLIENTS for pattern in client.databases)


def homes_seen_from_wsl(
    env: Mapping[str, str] = os.environ,
    *,
    kernel: Path = Path("/proc/version"),
    users: Path = Path("/mnt/c/Users"),
) -> tuple[Path, ...]:
    """The homes of the Windows users, when this is Linux under Windows; else none."""
    try:
        if not env.get("WSL_DISTRO_NAME") and "microsoft" not in kernel.read_text().lower():
            return ()
        return tuple(sorted(home for home in users.iterdir() if not home.is_symlink()))
    except OSError:
        return ()


def _folders(client: Client, env: Mapping[str, str], homes: tuple[Path, ...]) -> Iterator[Path]:
    for name, below in client.variables:
        for place in _named(env.get(name, "")):
            yield place / below
    for home in homes:
        for folder in client.homes:
            yield home / folder


def _named(value: str) -> list[Path]:
    """The paths that a variable names: one, or several with commas."""
    parts = (part.strip() for part in value.split(","))
    return [Path(os.path.expanduser(part)) for part in parts if part]  # noqa: PTH111 (never raises)


def _holding(client: Client, folder: Path) -> Iterator[Path]:
    for name in client.folders:
        if os.path.isdir(folder / name):  # noqa: PTH112 (never raises)
            yield folder / name
    for pattern in client.databases:
        yield from sorted(folder.glob(pattern))
