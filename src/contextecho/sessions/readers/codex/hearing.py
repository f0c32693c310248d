"""Messages with the role `user`: which a human typed, and which the client wrote.

The one thing to know: a typed message stands in the file twice, as an event and as the item
that the model was given, in either order. The event is the one that counts. An item waits
until an event says that it was typed, or the model speaks; then the client wrote it. Files
without any such event (old ones) are told by the marks of the client's own blocks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Message, Piece
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import HARNESS, HUMAN
from contextecho.sessions.readers.codex.fragments import is_open

_MOST_WAITING: Final = 64  # an event stands beside its item, not far away
TYPED_TWICE: Final = "typed message, said again"


class Hearing:
    """Decides who wrote the messages with the role `user`, and says them."""

    def __init__(
        self, tally: Tally, say: Callable[[Message, str], None], events_tell: bool
    ) -> None:
        """`say` takes a message and all its text; `events_tell`: there are events to wait for."""
        self._tally = tally
        self._say = say
        self._events_tell = events_tell
        self.by_human = True  # what is typed: false for a sub-agent, whose parent speaks to it
        self._waiting: list[Message] = []
        self._typed: list[tuple[str, str]] = []  # kind of event, and text, since the model spoke

    def item(self, message: Message) -> None:
        """The model was given this."""
        if not self._events_tell:
            self._say(self._spoken(message), "")
            return
        for _, text in self._typed:
            message = self._without(message, text)
        if len(self._waiting) == _MOST_WAITING:
            self._release(1)
        if self._waiting or any(piece and _may_be_typed(piece) for piece in message.pieces):
            self._waiting.append(message)
        else:
            self._say(message, "")

    def event(self, message: Message, kind: str, text: str) -> None:
        """Somebody typed this. The same text in an event of another kind is the same message."""
        twin = next((each for each in self._typed if each[1] == text and each[0] != kind), None)
        if twin is not None:
            self._typed.remove(twin)
            self._tally.add(TYPED_TWICE, message.line)
            return
        for number, waiting in enumerate(self._waiting):
            rest = self._without(waiting, text)
            if rest is not waiting:
                self._waiting[number] = rest
                self._release(number + 1)
                break
        self._typed = [*self._typed[-_MOST_WAITING:], (kind, text)]
        self._say(self._spoken(message), text)

    def flush(self) -> None:
        """The model speaks, or the file ends: what waits was written by the client."""
        if self._waiting:
            self._release(len(self._waiting))
        if self._typed:
            self._typed.clear()

    def _release(self, count: int) -> None:
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        for message in ready:
            self._say(_by_client(message), "")

    def _without(self, message: Message, text: str) -> Message:
        """The message without the pieces that this typed text holds."""
        pieces = [None if piece and piece.text in text else piece for piece in message.pieces]
        if pieces == message.pieces:
            return message
        self._tally.add(TYPED_TWICE, message.line)
        return replace(message, pieces=pieces)

    def _spoken(self, message: Message) -> Message:
        return message if self.by_human else _by_client(message)


def _may_be_typed(piece: Piece) -> bool:
    return piece.speaker is HUMAN or is_open(piece.text)


def _by_client(message: Message) -> Message:
    """The message with nothing in it said by a human."""
    return replace(message, pieces=[piece and _harness(piece) for piece in message.pieces])


def _harness(piece: Piece) -> Piece:
    return replace(piece, speaker=HARNESS)
