"""The files of a session: its own, and all that belong to it.

The one thing to know: what `keep` takes is what `convert` never writes to, so that both
ask here. Claude Code puts more beside a session than its reader reads: what a sub-agent
is, and the long outputs of tools.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from contextecho.sessions.model import Archived, Session, Spread

_OF_CLAUDE_CODE: Final = ("subagents", "tool-results")  # below a folder of the session's name
_META: Final = ".meta.json"  # what a sub-agent is, beside its conversation
_OF_DATABASES: Final = ("-wal", "-shm", "-journal")


def files_of(session: Session) -> frozenset[Path]:
    """The session's own file and all that belong to it, by absolute paths that follow no link."""
    path = absolute(session.path)
    files = {path, *(absolute(sidechain.path) for sidechain in session.sidechains)}
    files |= {absolute(file.path) for file in session.files}
    if isinstance(session.source, Spread):
        files |= {absolute(file) for file in session.source.files}
    if isinstance(session.source, Archived):
        files |= {absolute(file) for file in session.source.archived}
    if session.format == "claude-code":
        files |= {file.with_suffix(_META) for file in files - {path}}
        files |= set(_below(path, {path.stem, session.id}))
    return frozenset(file for file in files if file == path or os.path.isfile(file))  # noqa: PTH113 (never raises)


def is_file_of(session: Session, path: Path) -> bool:
    """Whether a file that is there is one of the session's, whatever name it is reached by."""
    own = absolute(session.path)
    logs = {own.with_name(own.name + ending) for ending in _OF_DATABASES}
    every = files_of(session) | logs
    return any(os.path.exists(file) and path.samefile(file) for file in every)  # noqa: PTH110


def absolute(path: Path) -> Path:
    """The absolute path, following no link."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def is_plain_name(name: str) -> bool:
    """Whether a name that a file says is that of something in a folder, and leads nowhere else."""
    return name not in ("", ".", "..") and "\0" not in name and os.path.basename(name) == name  # noqa: PTH119


def _below(path: Path, names: set[str]) -> Iterator[Path]:
    """What Claude Code puts below the folders of a session's names; links are not followed."""
    for name in names:
        if is_plain_name(name):
            for kind in _OF_CLAUDE_CODE:
                folder = path.parent / name / kind
                if os.path.isdir(folder):  # noqa: PTH112 (an id can be too long for a name)
                    yield from (file for file in folder.rglob("*") if not file.is_symlink())
