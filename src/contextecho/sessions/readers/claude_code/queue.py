"""Messages that the human typed while the model was working.

The one thing to know: a message taken out of the queue by `remove` was given to
the model in the middle of its work, and in older files its only trace is the
`enqueue` record. One taken out by `dequeue` follows as an ordinary user record,
and newer clients also attach the injected ones (`queued_command`), so a message
is counted where its text appears in the conversation, else where it was removed,
and never twice. Newer clients name the message that leaves; else it is the first one,
and one that does not wait here is none. Once the model has begun another message,
the text typed again is another message.
"""

from __future__ import annotations

from collections import Counter, deque

from contextecho.sessions.model import Speaker
from contextecho.sessions.readers.claude_code.entries import Entry


class Queued:
    """A message waiting in the queue."""

    def __init__(self, entry: Entry) -> None:
        """`entry` is the record that holds the message, as its first part if it has words."""
        self.entry = entry
        self.text = entry.parts[0].text if entry.parts else ""
        self.by_human = bool(entry.parts) and entry.parts[0].speaker is Speaker.HUMAN
        self.delivered = False  # already seen as an attachment
        self.waits = True


class MessageQueue:
    """The client's queue, replayed from its operations."""

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()  # those that have left may stand in it still
        # By their texts, so that no text costs more than another while many wait.
        self._to_appear: dict[str, deque[Queued]] = {}
        self._to_attach: dict[str, deque[Queued]] = {}
        self._announced: Counter[str] = Counter()  # dequeued: a user record must follow
        self._injected: dict[str, deque[int]] = {}  # text -> turns made from removed messages
        self.retracted: set[int] = set()  # turns whose message turned up elsewhere after all

    def enqueue(self, message: Queued) -> None:
        """A message was typed or a notice arrived."""
        self._waiting.append(message)
        for waiting in (self._to_appear, self._to_attach):
            waiting.setdefault(message.text, deque()).append(message)

    def dequeue(self, text: str = "") -> None:
        """The first message, or the first of this text, leaves; it follows as a user record."""
        if message := self._take(text):
            self._announced[message.text] += 1

    def remove(self, text: str = "") -> Queued | None:
        """The first message, or the first of this text, leaves; given if nothing else shows it."""
        message = self._take(text)
        return None if message is None or message.delivered else message

    def clear(self) -> None:
        """All messages went back into the input box."""
        self._waiting.clear()
        self._to_appear.clear()
        self._to_attach.clear()

    def injected(self, text: str, turn: int) -> None:
        """Turn number `turn` was made from a removed message."""
        self._injected.setdefault(text, deque()).append(turn)

    def answered(self) -> None:
        """The model began another message: what was injected before has had its place."""
        if self._injected:
            self._injected.clear()

    def appeared(self, text: str) -> None:
        """The text stands in a user record: it is not counted a second time."""
        if self._announced[text]:
            self._announced[text] -= 1
        elif message := _first_waiting(self._to_appear, text):
            message.waits = False
        elif turns := self._injected.get(text):
            self.retracted.add(turns.popleft())

    def attached(self, text: str) -> bool:
        """The text stands in an attachment; whether it is new and must be counted there."""
        if turns := self._injected.get(text):
            turns.popleft()
            return False
        if message := _first_waiting(self._to_attach, text):
            message.delivered = True
        return True

    def _take(self, text: str) -> Queued | None:
        if text:
            if named := _first_waiting(self._to_appear, text):
                named.waits = False
            return named
        while self._waiting:
            message = self._waiting.popleft()
            if message.waits:
                message.waits = False
                return message
        return None


def _first_waiting(waiting: dict[str, deque[Queued]], text: str) -> Queued | None:
    """Take out the first message of this text that has not left the queue."""
    messages = waiting.get(text)
    while messages:
        message = messages.popleft()
        if message.waits:
            return message
    return None
