"""The main thread of a conversation, whichever kind of event it is kept in.

The one thing to know: a condensation names the events that the model will not see again.
All others stay as they are, so every event's turns are kept in mind until it is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import moment, seconds
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Kind, Speaker
from contextecho.untrusted import make_visible

_LONGEST_NUMBER: Final = 19  # longer ids are none that a client counts
_ASKS_ON: Final = re.compile(r"Please continue (working on the task )?on whatever approach")
"""How an evaluation answers an agent that waits for its user."""


class Facts(Struct):
    """What the file says about the conversation as a whole, or has said last."""

    id: str | None = None
    model: str | None = None
    version: str | None = None
    agent: str | None = None
    cwd: str | None = None
    leaf: str | None = None  # the event that the client stands on, where events are a tree


class Thread:
    """Says what the events hold, and condenses."""

    def __init__(self, conversation: Conversation, facts: Facts) -> None:
        """`facts` change with what the events say."""
        self.conversation = conversation
        self.facts = facts
        self.abandoned = frozenset[str]()  # events that a rewind left behind
        self.trigger: str | None = None  # of the condensation that was asked for
        self._turns_of: dict[str, range] = {}  # of each event that the model still sees
        self._answers: set[str] = set()
        self._zoneless = False

    def say(
        self,
        placed: Placed,
        pieces: Sequence[Piece | None],
        *,
        id: str | None = None,
        model: str | None = None,
    ) -> None:
        """Take in what an event says; `id` is of the model's answer that it is a part of.

        Reasoning that an answer's further events repeat is said once.
        """
        if id is not None:
            if id in self._answers:
                pieces = [None if p and p.kind is Kind.THINKING else p for p in pieces]
            self._answers.add(id)
        event = id_of(placed.value)
        abandoned = event in self.abandoned
        first = len(self.conversation.turns)
        self.conversation.say(
            Message(
                line=placed.line,
                span=placed.span,
                pieces=pieces,
                id=id,
                model=model or self.facts.model,
                version=self.facts.version,
                time=self._time(placed),
                mode=self.facts.agent,
                abandoned=abandoned,
            )
        )
        if event is not None and not abandoned:
            self._turns_of[event] = range(first, len(self.conversation.turns))

    def is_known(self, id: str | None) -> bool:
        """Whether a part of this answer has been said."""
        return id in self._answers

    def instruct(self, placed: Placed, pieces: Sequence[Piece]) -> None:
        """Take in the system prompt; a second one is counted."""
        if self.conversation.turns or self.conversation.system:
            self.conversation.tally.add("system prompt again", placed.line)
        else:
            self.conversation.system += [piece.text for piece in pieces]

    def numbered(self, first: int, last: int) -> Iterable[str]:
        """The events of these numbers, among others; no more are looked at than must be."""
        if last - first < len(self._turns_of):
            return map(str, range(first, last + 1))
        return [id for id in self._turns_of if _is_number(id) and first <= int(id) <= last]

    def condense(self, placed: Placed, summary: Piece, forgotten: Iterable[str]) -> None:
        """The `forgotten` events are gone from what the model sees."""
        if id_of(placed.value) in self.abandoned:
            self.count(placed, "condensation on a branch that was left behind")
            return
        for id in forgotten:  # and not each that is seen: of long sessions most are, many times
            self._turns_of.pop(id, None)
        self.conversation.compact(placed.line, trigger=self.trigger)
        self.conversation.keep(turn for turns in self._turns_of.values() for turn in turns)
        self.trigger = None
        if summary.text.strip():
            time = self._time(placed)
            self.conversation.say(
                Message(line=placed.line, span=placed.span, pieces=[summary], time=time)
            )

    def count(self, placed: Placed, reason: str) -> None:
        """Count an event that is left out."""
        self.conversation.tally.add(make_visible(reason), placed.line)

    def _time(self, placed: Placed) -> float | None:
        """When it happened; a time without a zone, which is the rule, is taken as UTC."""
        time = moment(placed.value.get("timestamp"))
        if time is not None and time.tzinfo is None:
            if not self._zoneless:
                self.count(placed, "times without a zone, taken as UTC from here on")
            self._zoneless = True
        return seconds(time)


def asks_on(text: str) -> bool:
    """Whether an evaluation wrote it, as a person's words."""
    return _ASKS_ON.match(text) is not None


def mark_asking_on(piece: Piece) -> None:
    """Give a person's words that an evaluation wrote to the client."""
    if piece.speaker is Speaker.HUMAN and asks_on(piece.text):
        piece.speaker = Speaker.HARNESS


def id_of(event: dict[str, Any]) -> str | None:
    """The event's id as text, if it has one; V0 has numbers."""
    return text_of_id(event.get("id"))


def _is_number(id: str) -> bool:
    return id.isdecimal() and len(id) < _LONGEST_NUMBER


def text_of_id(id: Any) -> str | None:
    """An id as text, if it is one."""
    return str(id) if isinstance(id, str | int) else None
