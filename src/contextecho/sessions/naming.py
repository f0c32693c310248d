"""How a session is named: its file, and `#member` where that holds several.

The one thing to know: a file may have a `#` in its own name, so a name means what is there.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path


def name_of(path: Path, member: str | None) -> str:
    """How one session of a file is named: `path`, or `path#member` if there are several."""
    return str(path) if member is None else f"{path}#{member}"


def split_name(name: str | PathLike[str]) -> tuple[Path, str | None]:
    """The file that a name means, and which of its sessions, if the name says so."""
    text = fspath(name)  # a `Path` made of it would lose the "//" of a member's name
    file, mark, member = text.rpartition("#")
    if not mark or _is_there(Path(text)) or not _is_there(Path(file)):
        return Path(text), None
    return Path(file), member


def _is_there(path: Path) -> bool:
    """Whether there is such a file; none has a name that the system does not take."""
    try:
        return path.exists()
    except OSError:
        return False
