"""Reads messages of Anthropic's Messages API: saved conversations, requests, and logs of calls.

The one thing to know: only what could be no other API's is taken (see `calls`); plain
role and text is `chat`'s. A file holds messages (one conversation), conversations (each
a session), or requests with their responses: calls that go on with one another are one
session, since each repeats the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct

from contextecho.sessions.building.conversation import Conversation, Message
from contextecho.sessions.building.fields import instant, string
from contextecho.sessions.building.jsontext import line_values
from contextecho.sessions.building.placed import Document, Placed, PlacedSource
from contextecho.sessions.building.repeated import Repeated, Threads
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session, Sidechain, Span
from contextecho.sessions.readers.anthropic.blocks import is_message, left_out, pieces_of
from contextecho.sessions.readers.anthropic.calls import (
    Call,
    call_in,
    instructions_of,
    is_anthropic,
    thread_of,
)
from contextecho.sessions.readers.anthropic.records import MESSAGES, records_of

NAME: Final = "anthropic"
_SIGN = re.compile(
    rb'"(?:tool_use|tool_result|thinking|redacted_thinking|\w+_tool_result|server_tool_use'
    rb'|stop_reason|system|source|anthropic_version)"'
)


def sniff(head: bytes) -> bool:
    """Whether the first lines, or the first messages of a document, are this API's."""
    if b'"role"' not in head or not _SIGN.search(head):
        return False
    if any(map(is_anthropic, line_values(head))):
        return True
    if isinstance(next(line_values(head), None), dict):
        return False
    document = Document(head)
    found = (one.value for keys in MESSAGES for one in document.elements(*keys, tally=Tally()))
    return is_anthropic(document.value()) or any(map(is_anthropic, found))


def members(path: Path) -> list[str]:
    """The conversations in the file, each named by its first record's line or number."""
    with path.open("rb") as file:
        names = {name: None for name, _ in _grouped(file, Stamp.of(file).size, Tally())}
    return list(names) or ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        conversation = Conversation()
        source = PlacedSource(path, stamp, pieces_of)
        reading = _Reading(file, conversation, source)
        for name, found in _grouped(file, stamp.size, conversation.tally):
            if name == member:
                reading.add(found)
        sidechains = reading.finish(path)
    return conversation.session(
        path, format=NAME, bytes=stamp.size, source=source, sidechains=sidechains
    )


def _grouped(file: BinaryIO, end: int, tally: Tally) -> Iterator[tuple[str, Placed]]:
    """The records of the file, each with the name of the conversation it is of."""
    names: dict[Any, str] = {}
    are_messages = False
    for found in records_of(file, end, tally):
        if is_message(found.value) and not names:
            are_messages = True
            yield "1", found
        elif is_message(found.value):
            tally.add("message among conversations", found.line)
        elif (call := call_in(found.value)) is None:
            tally.add("not a message", found.line)
        elif are_messages:
            tally.add("conversation among messages", found.line)
        else:
            key = thread_of(call) if call.is_logged else found.line
            yield names.setdefault(key, str(found.line)), found


class _Asked(Struct, gc=False):
    """A call, as far as it is known before it is said."""

    line: int
    span: Span
    messages: tuple[str, ...]
    answer: tuple[str, ...] | None
    instructions: str | None
    model: str | None
    time: float | None


class _Reading:
    """Takes in the records of one conversation."""

    def __init__(self, file: BinaryIO, conversation: Conversation, source: PlacedSource) -> None:
        self._file = file
        self._conversation = conversation
        self._source = source
        self._calls: list[_Asked] = []
        self._left_out: dict[Span, list[str]] = {}  # of the messages that are being read

    def add(self, found: Placed) -> None:
        """Take in one record; calls wait until it is known which of them are the conversation."""
        call = None if is_message(found.value) else call_in(found.value)
        if call is not None:
            self._calls.append(_asked(found, call))
            return
        message = self._message(found, None)
        self._place(found)
        if found.value["role"] == "system" and not self._conversation.turns:
            self._conversation.system += [piece.text for piece in message.pieces if piece]
        else:
            self._conversation.say(message)

    def finish(self, path: Path) -> tuple[Sidechain, ...]:
        """Say what the calls hold; those that go on with others than the most are sub-agents'."""
        threads, alone = Threads(), len(self._calls) == 1
        numbers = [
            0 if alone else threads.add(call.instructions, *self._messages(call))
            for call in self._calls
        ]
        main = threads.main
        repeated = Repeated(self._conversation, self._place)
        others: dict[int, list[_Asked]] = {}
        for number, call in zip(numbers, self._calls, strict=True):
            self._left_out.clear()
            if number == main:
                if len(call.messages) > 1 and call.answer is None:
                    self._conversation.tally.add("request without a readable answer", call.line)
                repeated.call(call.instructions, *self._messages(call))
            else:
                others.setdefault(number, []).append(call)
        return tuple(
            Sidechain(agent_id=str(number), path=path, records=len(calls), models=_models(calls))
            for number, calls in enumerate(others.values(), 1)
        )

    def _place(self, found: Placed) -> None:
        """Remember where a message lies, and count what of it is left out."""
        self._source.place(found)
        for phrase in self._left_out.pop(found.span, ()):
            self._conversation.tally.add(phrase, found.line)

    def _messages(self, call: _Asked) -> tuple[list[Message], list[Message]]:
        """The history of a call and its answer, each message with its place in the file."""
        self._file.seek(call.span.offset)
        document = Document(self._file.read(call.span.length), call.span.offset)
        history = [
            self._message(found, call)
            for found in document.elements(*call.messages, tally=Tally())
            if is_message(found.value)
        ]
        answer = document.placed(*call.answer) if call.answer is not None else None
        return history, [] if answer is None else [self._message(answer, call, call.time)]

    def _message(self, found: Placed, call: _Asked | None, time: float | None = None) -> Message:
        value = found.value
        self._left_out[found.span] = list(left_out(value))
        asked = call.model if call is not None else None
        return Message(
            line=found.line,
            span=found.span,
            pieces=pieces_of(value),
            id=string(value, "id") or None,
            model=string(value, "model") or asked,
            time=_time(value) or time,
        )


def _asked(found: Placed, call: Call) -> _Asked:
    return _Asked(
        found.line,
        found.span,
        call.messages,
        call.answer,
        instructions_of(call),
        string(call.body, "model"),
        _time(found.value) if isinstance(found.value, dict) else None,
    )


def _time(value: dict[str, Any]) -> float | None:
    return instant(value.get("timestamp")) or instant(value.get("created_at"))


def _models(calls: list[_Asked]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.model for call in calls if call.model))
