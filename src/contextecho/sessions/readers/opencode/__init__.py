"""Reads OpenCode: an export, the tree of JSON files before 1.2, the SQLite database since.

The one thing to know: the three hold the same messages, each an `info` and its `parts`.
What a message holds is told in `pieces`, what it is in its session in `thread`; `export`,
`tree` and `database` only find the messages. A database holds many sessions, named by
their ids; a sub-agent's session is not one of them but a `Sidechain` of its parent's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from contextecho.errors import SessionError
from contextecho.sessions.building.databases import is_database
from contextecho.sessions.building.fields import object_in
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.model import Session
from contextecho.sessions.readers.opencode.export import read_export
from contextecho.sessions.readers.opencode.shapes import Shape, shape_of
from contextecho.sessions.readers.opencode.thread import NAME
from contextecho.sessions.readers.opencode.tree import read_tree, session_file

__all__ = ["NAME", "members", "read_member", "sniff"]
_HEAD: Final = 1 << 16
_PIECES: Final = {Shape.MESSAGE: "a message", Shape.PART: "a part of a message"}


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this is OpenCode's."""
    return shape_of(head) is not None


def members(path: Path) -> list[str]:
    """The sessions in a database, the newest first; one name for any other file."""
    if is_database(_begins(path)):
        from contextecho.sessions.readers.opencode.database import database_members

        return database_members(path)
    return ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one session. Raises `SessionError`, also for a file that is only a piece of one."""
    head = _begins(path)
    if is_database(head):
        from contextecho.sessions.readers.opencode.database import read_database_member

        return read_database_member(path, member)
    shape = shape_of(head) or shape_of(path.read_bytes())
    if shape is Shape.SESSION:
        return read_tree(path)
    if shape in _PIECES:
        record = decode_json(path.read_bytes())
        belongs = session_file(path, object_in(record))
        raise SessionError(
            f"is only {_PIECES[shape]} of an OpenCode session",
            where=str(path),
            todo=f"give the session's file, {belongs}",
        )
    return read_export(path)


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
