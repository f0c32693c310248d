"""The files below some folders that may hold sessions, found in one walk.

The one thing to know: a name only keeps out what no client keeps sessions in; whether a
file holds one, its content says. Links to folders are not followed but told of; a file
that is reached twice is met once.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

import msgspec

from contextecho.errors import SessionError
from contextecho.sessions.finding.continued import continued_among
from contextecho.sessions.finding.roots import is_database

_LINES: Final = ".jsonl"
_KINDS: Final = (_LINES, ".json", ".traj", ".eval")
_PACKED: Final = (".zst", ".gz")
_TEXTS: Final = (*_KINDS, *_PACKED)
_DATABASE: Final = ".db"
_PAGE: Final = 512  # bytes: a database has so many, or a multiple; few texts do
_NEVER_FOLDERS: Final = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_NEVER_FILES: Final = frozenset(
    {
        "composer.lock",
        "manifest.json",
        "package-lock.json",
        "package.json",
        "settings.json",
        "tsconfig.json",
    }
)
# As OpenCode has them, beside a folder of sessions: their messages, in a file each.
_OF_SESSIONS: Final = frozenset({"session", "info"})
_OF_PARTS: Final = frozenset({"message", "part", "session_diff"})


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What changes when a file does."""

    bytes: int
    modified_ns: int  # since 1970, like the others
    changed_ns: int  # which nobody can set; on Windows: when the file was made
    inode: int
    # When a database's write-ahead log was written, or the last message that is a file was added.
    later_ns: int = 0

    @property
    def written_ns(self) -> int:
        """When the content was last written, also to what is beside the file."""
        return max(self.modified_ns, self.later_ns)

    @property
    def newest_ns(self) -> int:
        """The latest of the times."""
        return max(self.written_ns, self.changed_ns)


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A file that may hold sessions, as it was when it was met."""

    path: str
    mark: Mark


class Walk(msgspec.Struct):
    """What was met."""

    files: list[Candidate] = msgspec.field(default_factory=list)
    unread: list[SessionError] = msgspec.field(default_factory=list)
    continued: int = 0  # files left out: read with others, in which their sessions go on
    links: list[str] = msgspec.field(default_factory=list)  # to folders, which are not followed
    others: int = 0  # files left out: their names are none that sessions have


def walk(places: Iterable[Path]) -> Walk:
    """The candidates in folders, and the files that are named themselves, whatever their name.

    What does not exist, or vanishes meanwhile, is passed over; what the system refuses
    is in `unread`. Of a session's files only the one in which it goes on is there.
    """
    places = list(places)
    walked = Walk()
    met = set[tuple[int, int]]()
    for place in places:
        for path in _below(str(place), walked):
            status = _status(path, walked)
            if status is not None and S_ISREG(status.st_mode):
                identity = (status.st_dev, status.st_ino)
                if identity not in met:
                    met.add(identity)
                    walked.files.append(_candidate(path, status))
    continued = continued_among(walked.files, {*map(str, places)})
    walked.files = [file for file in walked.files if file.path not in continued]
    walked.continued = len(continued)
    return walked


def _below(place: str, walked: Walk) -> Iterator[str]:
    """The files of a folder that have a session's kind of name; a file itself."""
    status = _status(place, walked)
    if status is None:
        return
    if not S_ISDIR(status.st_mode):
        yield place
        return
    folders = [place]
    while folders:
        inside: dict[str, str] = {}
        folder = folders.pop()
        entries = _entries(folder, walked)
        kept = _kept_file(folder, entries)
        if kept is not None:
            yield kept
            continue
        for name in sorted(entries):
            entry = entries[name]
            if _is_folder(entry):
                if name not in _NEVER_FOLDERS:
                    inside[name] = entry.path
            elif _may_hold_sessions(name):
                yield entry.path
            elif _is_link_to_folder(entry):
                walked.links.append(entry.path)
            else:
                walked.others += 1
        passed_over = _OF_PARTS if _OF_SESSIONS & inside.keys() else frozenset()
        folders += reversed([path for name, path in inside.items() if name not in passed_over])


def _kept_file(folder: str, names: Container[str]) -> str | None:
    """The session's file in a folder of `sessions keep`, where all else belongs to it."""
    if "manifest.json" not in names:
        return None
    from contextecho.sessions.packing.archive import session_file_in

    kept = session_file_in(Path(folder))
    return None if kept is None else str(kept)


def _entries(folder: str, walked: Walk) -> dict[str, os.DirEntry[str]]:
    """What is in a folder, by name."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry for entry in entries}
    except FileNotFoundError:
        return {}
    except OSError as error:
        walked.unread.append(_refused(folder, error))
        return {}


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_link_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False


def _may_hold_sessions(name: str) -> bool:
    return _is_of_sessions(name) or (
        name.endswith(_PACKED) and _is_of_sessions(name.rpartition(".")[0])
    )


def _is_of_sessions(name: str) -> bool:
    if name.endswith(_KINDS):
        return name not in _NEVER_FILES
    return name.endswith(_DATABASE) and is_database(name)


def _status(path: str, walked: Walk) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (a Path for each of thousands of files takes longer)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error if isinstance(error, OSError) else OSError(str(error))
        walked.unread.append(_refused(path, reason))
        return None


def _refused(path: str, error: OSError) -> SessionError:
    from contextecho.sessions.building.stamp import unreadable

    return unreadable(Path(path), error)


def mark_of(status: os.stat_result, later_ns: int = 0) -> Mark:
    """The mark of a file with this status."""
    return Mark(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, later_ns)


def _candidate(path: str, status: os.stat_result) -> Candidate:
    size = status.st_size
    # Most are lines of text, beside which lies nothing: one look less at each of thousands.
    later = 0 if size % _PAGE and path.endswith(_LINES) else _later_ns(path, size)
    return Candidate(path, mark_of(status, later))


def _later_ns(path: str, size: int) -> int:
    """When what is beside a file and goes on where it ends was written; 0 for most, of one file."""
    beside = _beside(path, size)
    if beside is not None:
        with suppress(OSError):
            return os.stat(beside).st_mtime_ns  # noqa: PTH116
    return 0


def _beside(path: str, size: int) -> str | None:
    """Where the messages of a file lie, or the write-ahead log of a database."""
    folder = _folder_of_messages(path) if path.endswith(".json") else None
    if folder is not None:
        return folder
    if path.endswith(_TEXTS) and (size % _PAGE or not _begins_as_database(path)):
        return None
    return f"{os.path.realpath(path)}-wal"  # beside what a link leads to


def _folder_of_messages(path: str) -> str | None:
    """Where the messages of a session lie that has a file for each, as its file's name says."""
    folder, name = os.path.split(path)
    if name == "base_state.json":  # of OpenHands
        return os.path.join(folder, "events")  # noqa: PTH118
    if not name.startswith("ses_"):  # of OpenCode
        return None
    above = os.path.dirname(folder)  # noqa: PTH120
    if os.path.basename(folder) != "info":  # noqa: PTH119
        above = os.path.dirname(above)  # noqa: PTH120
    return os.path.join(above, "message", name.removesuffix(".json"))  # noqa: PTH118


def _begins_as_database(path: str) -> bool:
    """Whether a regular file of a text's name is a database all the same."""
    from contextecho.sessions.building.databases import MAGIC

    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.read(handle, len(MAGIC)) == MAGIC
    except OSError:
        return False
    finally:
        os.close(handle)
