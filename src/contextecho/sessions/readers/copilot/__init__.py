"""Reads Copilot CLI: the log of events, and the JSON history of clients before 0.0.342.

The one thing to know: the log says who typed, who answered and with which model, event
by event; only sub-agents' events, which stand between, have to be told apart. What each
module knows:

    events      what an event says         log         whose turn, with which model
    lines       events over several lines  history     the older form
    vocabulary  the events that are known
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, Final

from contextecho.sessions.building.conversation import Conversation, Piece
from contextecho.sessions.building.jsontext import line_values
from contextecho.sessions.building.placed import Document, PlacedSource
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Session
from contextecho.sessions.readers.copilot.events import is_event, pieces
from contextecho.sessions.readers.copilot.history import (
    MESSAGES,
    is_history,
    message_pieces,
    read_history,
)
from contextecho.sessions.readers.copilot.lines import event_lines
from contextecho.sessions.readers.copilot.log import Log
from contextecho.untrusted import make_visible

NAME: Final = "copilot"
_HEAD: Final = 1 << 16
_MARK: Final = f'"{MESSAGES}"'.encode()


def sniff(head: bytes) -> bool:
    """Whether this begins a log of events, or the history of an older client."""
    return _holds_event(head) or (_MARK in head and is_history(Document(head)))


def read(path: Path) -> Session:
    """Index the file. Raises `SessionError` if no model speaks in the main thread."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        source = PlacedSource(path, stamp, _pieces)
        conversation = Conversation()
        if _is_document(file, stamp.size):
            id = read_history(Document(file.read(stamp.size)), source, conversation)
            return conversation.session(
                path, format=NAME, bytes=stamp.size, source=source, id=make_visible(id or path.stem)
            )
        log = Log(conversation)
        for placed in event_lines(file, stamp.size, conversation.tally):
            source.place(placed)
            log.add(placed)
        log.settle()
    folder = path.absolute().parent.name
    return conversation.session(
        path,
        format=NAME,
        bytes=stamp.size,
        source=source,
        id=make_visible(log.session_id or (folder if path.stem == "events" else path.stem)),
        cwd=log.cwd,
        sidechains=tuple(log.sidechains(path)),
    )


def _pieces(value: dict[str, Any]) -> list[Piece]:
    """The pieces of an event, or of a message of the older history."""
    return pieces(value) if "data" in value else message_pieces(value)


def _is_document(file: BinaryIO, end: int) -> bool:
    """Whether the file is the history of an older client; it is left at its beginning."""
    head = file.read(min(_HEAD, end)) + file.readline()
    file.seek(0)
    return _MARK in head and not _holds_event(head)


def _holds_event(head: bytes) -> bool:
    return b'"data"' in head and any(map(is_event, line_values(head)))
