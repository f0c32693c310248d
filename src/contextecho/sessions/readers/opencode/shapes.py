"""Telling OpenCode's files from each other's and from everybody else's.

The one thing to know: the keys of an object are looked at as far as the first bytes
hold them, in any order; no name of a file decides.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Any, Final

from contextecho.sessions.building.databases import is_database
from contextecho.sessions.building.jsontext import members, value_at
from contextecho.sessions.readers.opencode.pieces import PARTS

_TABLE: Final = re.compile(
    rb"CREATE TABLE\s+[`\"\[]?(session|session_v2|message|part|session_message)[`\"\]]?\s*\(",
    re.IGNORECASE,
)
_TIME: Final = re.compile(rb'"time"\s*:')
"""A key that every record of OpenCode has, and the first bytes of few other files."""
_BLANK: Final = re.compile(r"\s*")
_PLACES: Final = frozenset({"projectID", "directory"})


class Shape(Enum):
    """What a file of OpenCode holds."""

    EXPORT = auto()
    DATABASE = auto()
    SESSION = auto()  # a session's own record, with files of its messages elsewhere
    MESSAGE = auto()
    PART = auto()


def shape_of(head: bytes) -> Shape | None:
    """The shape of a file that begins like this, or `None` if it is not OpenCode's."""
    if is_database(head):
        return Shape.DATABASE if _has_sessions(set(_TABLE.findall(head))) else None
    if not _TIME.search(head):
        return None
    text = head.decode("utf-8", "surrogateescape")
    begin = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if not text.startswith("{", begin):
        return None
    starts = _starts(text, begin)
    return _of_document(text, starts) or _of_record(_values(text, starts))


def _has_sessions(tables: set[bytes]) -> bool:
    """Whether these are tables of sessions and of their messages."""
    messages = {b"message", b"part"} <= tables or b"session_message" in tables
    return messages and not tables.isdisjoint({b"session", b"session_v2"})


def _of_document(text: str, starts: dict[str, int]) -> Shape | None:
    """An export: the session's record under `info`, and its messages with their parts.

    Where the messages come first, the record may lie behind what is looked at: then the first
    message tells.
    """
    if "messages" not in starts or not text.startswith("[", starts["messages"]):
        return None
    info = _info(text, starts)
    if not info:
        first = _BLANK.match(text, starts["messages"] + 1)
        message = _starts(text, first.end()) if first else {}
        is_message = "parts" in message and _of_record(_info(text, message)) is Shape.MESSAGE
        return Shape.EXPORT if is_message else None
    is_session = isinstance(info.get("id"), str) and not info.keys().isdisjoint(_PLACES)
    return Shape.EXPORT if is_session else None


def _info(text: str, starts: dict[str, int]) -> dict[str, Any]:
    """What stands under `info` of an object whose values begin at `starts`."""
    begin = starts.get("info")
    if begin is None or not text.startswith("{", begin):
        return {}
    return _values(text, _starts(text, begin))


def _of_record(record: dict[str, Any]) -> Shape | None:
    """One record of the tree of files."""
    names = {key for key, value in record.items() if isinstance(value, str)}
    if not isinstance(record.get("time"), dict | None) or "id" not in names:
        return None
    is_part = "type" in names and record["type"] in PARTS
    if is_part and {"sessionID", "messageID"} <= names:
        return Shape.PART
    if "sessionID" in names and record.get("role") in ("user", "assistant") and "time" in record:
        return Shape.MESSAGE
    if _is_session(record, names):
        return Shape.SESSION
    if is_part and "text" in names and "start" in (record.get("time") or ()):
        return Shape.PART
    return None


def _is_session(record: dict[str, Any], names: set[str]) -> bool:
    """Whether this is a session's own record; that of the first clients names no folder."""
    by_id = "title" in names and record["id"].startswith("ses_")
    by_folder = "directory" in names and bool({"projectID", "title"} & names)
    return {"version", "time"} <= record.keys() and "version" in names and (by_id or by_folder)


def _starts(text: str, position: int) -> dict[str, int]:
    """Where the values of the object at `position` begin, up to its messages."""
    starts = {}
    for key, start in members(text, position):
        starts[key] = start
        if key == "messages":
            break
    return starts


def _values(text: str, starts: dict[str, int]) -> dict[str, Any]:
    """The members that are whole."""
    found = {key: value_at(text, start) for key, start in starts.items()}
    return {key: value[0] for key, value in found.items() if value is not None}
