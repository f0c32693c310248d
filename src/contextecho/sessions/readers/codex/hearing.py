"""Which of the messages with the role `user` a human typed, and which the client wrote.

The one thing to know: a typed message stands in the file twice, as an event and as the item
that the model was given, in either order. The event is the one that counts. An item waits
until an event says that it was typed, or the model speaks, or the turn ends. Then the client
wrote it, if an event beside it says what was typed; where none does (old clients write none,
and one can be lost), the marks of the client's own blocks tell. What is said behind an item
that waits waits too, so that all is said in the order of the file's lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from contextecho.sessions.building.conversation import Message, Piece
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import HARNESS, HUMAN
from contextecho.sessions.readers.codex.fragments import is_open

_MOST_WAITING: Final = 64  # an event stands beside its item, not far away
TYPED_TWICE: Final = "typed message, said again"
NO_EVENT: Final = "typed message without its event, told by its marks"


class _Waiting(Struct):
    """A message that is not said yet."""

    message: Message
    whole: str = ""  # what was typed, if an event says so
    is_told: bool = True  # who wrote it; false for an item that an event may still repeat


class _Typed(Struct):
    """What an event says was typed."""

    kind: str
    text: str
    is_given: bool = False  # an item repeats it


class Hearing:
    """Decides who wrote the messages with the role `user`, and says them."""

    def __init__(self, tally: Tally, say: Callable[[Message, str], None]) -> None:
        """`say` takes a message and all its text."""
        self._tally = tally
        self._say = say
        self.by_human = True  # what is typed: false for a sub-agent, whose parent speaks to it
        self._waiting: list[_Waiting] = []
        self._typed: list[_Typed] = []  # since the model spoke
        self._has_event = False  # since the model spoke, or a turn ended
        self._had_event = False  # ever

    def item(self, message: Message) -> None:
        """The model was given this."""
        for typed in self._typed:
            rest = self._without(message, typed.text)
            typed.is_given |= rest is not message
            message = rest
        may_be_typed = any(piece and _may_be_typed(piece) for piece in message.pieces)
        self._wait(_Waiting(message, is_told=not may_be_typed))

    def event(self, message: Message, kind: str, text: str) -> None:
        """Somebody typed this. The same text in an event of another kind is the same message."""
        twin = next((each for each in self._typed if each.text == text and each.kind != kind), None)
        if twin is not None:
            self._typed.remove(twin)
            self._tally.add(TYPED_TWICE, message.line)
            return
        self._has_event = self._had_event = True
        typed = _Typed(kind, text)
        for number, waiting in enumerate(self._waiting):
            rest = waiting.message if waiting.is_told else self._without(waiting.message, text)
            if rest is not waiting.message:
                waiting.message, typed.is_given = rest, True
                self._say_first(number + 1)
                break
        self._typed = [*self._typed[-_MOST_WAITING:], typed]
        self._wait(_Waiting(self._spoken(message), text))

    def clients(self, message: Message) -> None:
        """The client wrote this for the model."""
        self._wait(_Waiting(message))

    def end_turn(self) -> None:
        """The turn ended: what waits was given in it. An item may still follow its event."""
        self._say_first(len(self._waiting))
        self._typed = [typed for typed in self._typed if not typed.is_given]
        self._has_event = False

    def flush(self) -> None:
        """The model speaks, or the file ends."""
        self.end_turn()
        self._typed.clear()

    def _wait(self, waiting: _Waiting) -> None:
        if len(self._waiting) == _MOST_WAITING:
            self._say_first(1)
        self._waiting.append(waiting)
        told = next((n for n, each in enumerate(self._waiting) if not each.is_told), None)
        self._say_first(len(self._waiting) if told is None else told)

    def _say_first(self, count: int) -> None:
        """Say the first of those that wait."""
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        for each in ready:
            self._say(each.message if each.is_told else self._told(each.message), each.whole)

    def _told(self, message: Message) -> Message:
        """An item that no event repeats, with who wrote it."""
        if self._has_event:
            return _by_client(message)
        message = self._spoken(message)
        if self._had_event and any(piece and piece.speaker is HUMAN for piece in message.pieces):
            self._tally.add(NO_EVENT, message.line)
        return message

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
