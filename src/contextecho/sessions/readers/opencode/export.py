"""What `opencode export` writes: one JSON document with a session and its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import object_in
from contextecho.sessions.building.placed import Document, PlacedSource
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Session
from contextecho.sessions.readers.opencode.pieces import pieces_of
from contextecho.sessions.readers.opencode.thread import Thread


def read_export(path: Path) -> Session:
    """Index an export. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        document = Document(file.read(stamp.size))
    thread = Thread(object_in(document.value("info")))
    source = PlacedSource(path, stamp, _pieces)
    for placed in document.elements("messages", tally=thread.conversation.tally):
        if isinstance(placed.value, dict):
            source.place(placed)
        thread.take(placed)
    return thread.session(path, bytes=stamp.size, source=source)


def _pieces(message: dict[str, Any]) -> list[Piece]:
    return pieces_of(message)
