"""What must hold of any bytes under any name: a session that is whole, or one `SessionError`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, circumstances_of, read_session
from contextecho.sessions.reading import members_of
from sessions.building import check_lengths

T = TypeVar("T")
MOST_MEMBERS = 5


def check(path: Path, data: bytes, *, format: str | None = None) -> None:
    """Read these bytes; `format` names a reader that must cope with them, whosever they are."""
    path.write_bytes(data)
    names = _unless_refused(lambda: members_of(path, format=format)) or ()
    for member in names[:MOST_MEMBERS]:
        name = path if member is None else f"{path}#{member}"
        session = _unless_refused(lambda name=name: read_session(name, format=format))
        if session is not None:
            check_session(session, len(data))


def _unless_refused(reading: Callable[[], T]) -> T | None:
    """What reading gives; nothing where it is refused in one line."""
    try:
        return reading()
    except SessionError as error:
        if "\n" in str(error):
            raise
        return None


def check_session(session: Session, size: int) -> None:
    """The index agrees with what is loaded again, and everything is valid text."""
    contents = list(session.contents(session.turns))
    check_lengths(session.turns, contents)
    for content in contents:
        content.text.encode("utf-8")
    for _, row in session.source.records(1, size + 1):
        json.dumps(row).encode("utf-8")
    assert session.steps > 0
    assert all(t.kind is not Kind.TOOL_CALL or t.speaker == "model" for t in session.turns)
    assert all(c.summary is None or c.summary < len(session.turns) for c in session.compactions)
    assert len(list(circumstances_of(session))) == len(session.turns)
