"""What is inside a file found in a folder: sessions, a sub-agent's records, or neither.

The one thing to know: nothing here raises, so that one file stops no list of many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from contextecho.errors import PackedError, SessionError
from contextecho.sessions.building.stamp import unreadable
from contextecho.sessions.model import Session
from contextecho.sessions.naming import name_of
from contextecho.sessions.packing.packed import beginning, format_said
from contextecho.sessions.reading import DAMAGED, Held, open_file

# A file that is read from its beginning for each of its sessions (a data set of
# conversations) is not taken apart when that would mean reading more than this.
_MOST_REREAD: Final = 1 << 30
_PEEK: Final = 1 << 16
_IS_SIDECHAIN: Final = re.compile(rb'"isSidechain"\s*:\s*(true|false)')
_BEGINS: Final = re.compile(rb'"(role|messages|mapping|chat_messages|conversations)"\s*:')

Made = TypeVar("Made")


class Inside(NamedTuple, Generic[Made]):
    """What was made of each session in a file, or why there is nothing."""

    format: str | None = None  # None: no reader knows the file; how packed, if that is all we know
    sessions: Sequence[tuple[str | None, Made | SessionError]] = ()  # by member
    sub_agents: int = 0  # sessions that are sub-agents', which belong to another
    error: SessionError | None = None


def look_inside(
    path: Path, make: Callable[[Session], Made], *, is_named: bool = False
) -> Inside[Made]:
    """What `make` makes of every session in the file, sub-agents' left out.

    A file that the user named is a sub-agent's only if its reader says so.
    """
    try:
        if not is_named and _is_sub_agents(path):
            return Inside(sub_agents=1)
        held = open_file(path)
    except PackedError as error:
        return Inside(format=_format_said(path), error=error)
    except SessionError as error:
        return Inside(error=error)
    except FileNotFoundError:
        return Inside()
    except OSError as error:
        return Inside(error=unreadable(path, error))
    try:
        members = _members(path, held)
    except SessionError as error:
        return Inside(format=held.format, error=error)
    made = [(member, _made(held, member, make)) for member in members]
    sessions = [(member, each) for member, each in made if each is not None]
    return Inside(held.format, sessions, sub_agents=len(made) - len(sessions))


def looks_like_a_session(path: Path, error: SessionError) -> bool:
    """Whether a file that is in no known format should be named: it looks like a session's.

    By its name, which ends in .jsonl; or it is a document that was cut, and begins as one.
    """
    if path.name.removesuffix(".zst").removesuffix(".gz").endswith(".jsonl"):
        return True
    try:
        return error.what.startswith(DAMAGED) and _BEGINS.search(beginning(path, _PEEK)) is not None
    except OSError:
        return False


def _format_said(path: Path) -> str | None:
    try:
        return format_said(path)
    except OSError:
        return None


def _is_sub_agents(path: Path) -> bool:
    """Whether a file is a sub-agent's of Claude Code, by its name and then its content."""
    if not (path.name.startswith("agent-") or path.parent.name == "subagents"):
        return False
    return set(_IS_SIDECHAIN.findall(beginning(path, _PEEK))) == {b"true"}


def _members(path: Path, held: Held) -> Sequence[str | None]:
    """The members of a file, unless they are too many to be read one by one."""
    members = held.members()
    if len(members) > 1:
        size = held.text_size()
        if size is not None and len(members) * size > _MOST_REREAD:
            raise SessionError(
                f"holds {len(members):,} sessions, too many to read each",
                where=str(path),
                todo=f"name one of them, as in {name_of(path, members[0])}",
            )
    return members


def _made(
    held: Held, member: str | None, make: Callable[[Session], Made]
) -> Made | SessionError | None:
    """What is made of one session; None for a sub-agent's."""
    try:
        session = held.read(member)
        return None if session.parent is not None else make(session)
    except SessionError as error:
        return error
