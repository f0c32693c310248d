"""The history of older clients: one JSON object with chat messages and a timeline.

The one thing to know: the messages are those of the API, as in plain chat, with the
client's blocks around what was typed; the timeline says the same for the screen and is
not read.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import string
from contextecho.sessions.building.jsontext import BROKEN
from contextecho.sessions.building.placed import Document, PlacedSource
from contextecho.sessions.model import Speaker
from contextecho.sessions.readers.chat import is_message, pieces_of
from contextecho.sessions.readers.copilot.events import typed

MESSAGES: Final = "chatMessages"


def is_history(document: Document) -> bool:
    """Whether a document is such a history."""
    return document.has_array(MESSAGES) and any(
        document.value(key) is not BROKEN for key in ("sessionId", "startTime", "timeline")
    )


def message_pieces(message: dict[str, Any]) -> list[Piece]:
    """The pieces of one message, with the human's words alone where there are any."""
    return [_heard(piece) for piece in pieces_of(message)]


def read_history(
    document: Document, source: PlacedSource, conversation: Conversation
) -> str | None:
    """Say the messages of a history; gives the session's id."""
    selected = document.value("selectedModel")
    for placed in document.elements(MESSAGES, tally=conversation.tally):
        message = placed.value
        if not is_message(message):
            conversation.tally.add("not a message", placed.line)
            continue
        source.place(placed)
        found = message_pieces(message)
        if message["role"] in ("system", "developer") and not conversation.turns:
            conversation.system += [piece.text for piece in found]
            continue
        model = message.get("model", None if selected is BROKEN else selected)
        conversation.say(
            Message(
                line=placed.line,
                span=placed.span,
                pieces=found,
                model=string(model),
            )
        )
    return string(document.value("sessionId"))


def _heard(piece: Piece) -> Piece:
    if piece.speaker is not Speaker.HUMAN:
        return piece
    words = typed(piece.text)
    if words or piece.images:
        return replace(piece, text=words)
    return replace(piece, speaker=Speaker.HARNESS)
