"""What must hold of any bytes under any name: sessions that are whole, or one `SessionError`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, circumstances_of, read_session
from contextecho.sessions.converting.inspect_log import write_json
from contextecho.sessions.converting.normalised import lines_of
from contextecho.sessions.reading import members_of
from sessions.claude_code_lines import check_lengths

T = TypeVar("T")


def check(
    path: Path, data: bytes, *, format: str | None = None, most: int | None = None
) -> list[Session]:
    """Read these bytes; `format` names a reader that must cope with them, whosever they are."""
    path.write_bytes(data)
    return check_file(path, format=format, most=most)


def check_file(path: Path, *, format: str | None = None, most: int | None = None) -> list[Session]:
    """Every session in the file, or the first `most`, is read whole or refused in one line.

    Those that are read.
    """
    names = unless_refused(partial(members_of, path, format=format)) or ()
    read = []
    for member in names[:most]:
        name = path if member is None else f"{path}#{member}"
        session = unless_refused(partial(read_session, name, format=format))
        if session is not None:
            check_session(session)
            read.append(session)
    return read


def unless_refused(reading: Callable[[], T]) -> T | None:
    """What reading gives; nothing where it is refused in one line. Any other error is the test's.

    Raises the `SessionError` itself where it says its reason in several lines.
    """
    try:
        return reading()
    except SessionError as error:
        if "\n" in str(error):
            raise
        return None


def check_session(session: Session) -> None:
    """The index agrees with what is loaded again, and everything is valid text."""
    turns, contents = session.turns, list(session.contents(session.turns))
    check_lengths(turns, contents)
    for content in contents:
        content.text.encode("utf-8")
    for _, row in session.source.records(1, max(session.bytes, turns[-1].line) + 1):
        json.dumps(row).encode("utf-8")
    assert session.steps > 0
    assert all(t.kind is not Kind.TOOL_CALL or t.speaker is Speaker.MODEL for t in turns)
    for compaction in session.compactions:
        assert compaction.summary is None or compaction.summary < len(turns)
        assert all(0 <= index < len(turns) for index in compaction.kept)
    assert len(list(circumstances_of(session))) == len(turns)
    if session.format not in OUT_OF_LINE:
        lines = [turn.line for turn in turns]
        assert lines == sorted(lines)
    if session.format not in COUNTED_AS_WRITTEN:
        assert [turn.chars for turn in turns] == [len(content.text) for content in contents]


def check_converted(session: Session, path: Path) -> None:
    """What was read can be written in the other formats, and is then as many turns again."""
    write_json(session, BytesIO())
    path.write_bytes(b"".join(lines_of(session)))
    again = read_session(path, format="contextecho")
    check_session(again)
    if session.format not in OUT_OF_LINE:
        assert len(again.turns) == len(session.turns)


COUNTED_AS_WRITTEN = {"claude-code", "contextecho"}
"""Formats in which a call or a result is counted as its file has it, which is never less."""
OUT_OF_LINE = {"claude-code", "codex"}
"""Formats whose turns do not always follow the lines of the file."""
