"""Messages that the human typed while the model was working.

The one thing to know: a message taken out of the queue by `remove` was given to
the model in the middle of its work, and in older files its only trace is the
`enqueue` record. One taken out by `dequeue` follows as an ordinary user record,
and newer clients also attach the injected ones (`queued_command`), so a message
is counted where its text appears in the conversation, else where it was removed,
and never twice.
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


class MessageQueue:
    """The client's queue, replayed from its operations."""

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()
        self._announced: Counter[str] = Counter()  # dequeued: a user record must follow
        self._injected: dict[str, list[int]] = {}  # text -> turns made from removed messages
        self.retracted: set[int] = set()  # turns whose message turned up elsewhere after all

    def enqueue(self, message: Queued) -> None:
        """A message was typed or a notice arrived."""
        self._waiting.append(message)

    def dequeue(self) -> None:
        """The first message leaves the queue; it follows as a user record."""
        if message := self._take():
            self._announced[message.text] += 1

    def remove(self) -> Queued | None:
        """The first message leaves the queue; given back if nothing else will show it."""
        message = self._take()
        return None if message is None or message.delivered else message

    def clear(self) -> None:
        """All messages went back into the input box."""
        self._waiting.clear()

    def injected(self, text: str, turn: int) -> None:
        """Turn number `turn` was made from a removed message."""
        self._injected.setdefault(text, []).append(turn)

    def appeared(self, text: str) -> None:
        """The text stands in a user record: it is not counted a second time."""
        if self._announced[text]:
            self._announced[text] -= 1
            return
        for message in self._waiting:
            if message.text == text:
                self._waiting.remove(message)
                return
        if turns := self._injected.get(text):
            self.retracted.add(turns.pop(0))

    def attached(self, text: str) -> bool:
        """The text stands in an attachment; whether it is new and must be counted there."""
        if self._injected.get(text):
            self._injected[text].pop(0)
            return False
        for message in self._waiting:
            if message.text == text and not message.delivered:
                message.delivered = True
                break
        return True

    def _take(self) -> Queued | None:
        return self._waiting.popleft() if self._waiting else None
