"""One sample of a log: its messages, and the conversation that they are.

The one thing to know: Inspect marks the messages that a sample began with (`source`
"input") and those that an operator typed; what a solver, an agent loop or a simulated
user adds bears no such mark and is the client's. A log that marks no message at all
does not tell, and then every user message counts as a prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from contextecho.errors import SessionError
from contextecho.sessions.building.bounds import MOST_ELEMENTS
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import string
from contextecho.sessions.building.jsontext import BROKEN, decode_json
from contextecho.sessions.building.placed import Document
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import CompactionKind, Kind, Span, Speaker
from contextecho.sessions.readers.inspect.events import Event, History, Known, compaction_facts
from contextecho.sessions.readers.inspect.pieces import (
    is_message,
    is_summary,
    pieces_of,
    text_of,
    unread_types,
)
from contextecho.untrusted import make_visible

_ATTACHMENT: Final = "attachment://"
_NOTHING: Final = Raw(b"null")
_LISTS: Final = (("messages",), ("events",), ("input",), ("events_data", "messages"))


class Header(Struct, frozen=True):
    """What a log says of the run as a whole."""

    model: str | None = None
    version: str | None = None  # of inspect_ai


class _Written(Struct):
    """The parts of a sample that are read; the rest is skipped unbuilt."""

    uuid: Any = None
    input: Any = None
    messages: Raw = _NOTHING
    attachments: Raw = _NOTHING
    events: list[Event] = []
    events_data: Known | None = None
    metadata: Raw = _NOTHING


_decode = msgspec.json.Decoder(_Written).decode


class Sample(Struct, frozen=True):
    """A decoded sample."""

    uuid: str | None
    input: Any
    messages: list[Any]
    history: History
    metadata: Any

    @classmethod
    def of(cls, data: bytes) -> Sample:
        """The sample in this JSON document.

        Raises `SessionError` when it holds none, or too many messages or events.
        """
        _refuse_too_many(data)
        written = _written(data)
        messages = decode_json(written.messages)
        if not isinstance(messages, list):
            raise SessionError("a sample of the log has no messages")
        if _ATTACHMENT.encode() in memoryview(written.messages).tobytes():
            attachments = decode_json(written.attachments)
            if isinstance(attachments, dict):
                messages = _resolved(messages, attachments)
        return cls(
            uuid=string(written.uuid),
            input=written.input,
            messages=messages,
            history=History.of(messages, written.events, written.events_data),
            metadata=decode_json(written.metadata),
        )

    def name(self, member: str) -> str:
        """The id of the session: the sample's own, else the name it has in its log."""
        return make_visible(self.uuid) if self.uuid else member


def header_of(value: Any) -> Header:
    """The header from the log's `eval`; what is missing is not known."""
    return Header(model=string(value, "model"), version=string(value, "packages", "inspect_ai"))


def say_sample(sample: Sample, header: Header) -> Conversation:
    """The conversation of a sample, indexed."""
    conversation = Conversation()
    history, by_human = sample.history, _human_by(sample)
    turns_of: dict[str, range] = {}
    for number, message in enumerate(sample.messages, 1):
        for compaction in history.compactions_before(number - 1):
            _compact(conversation, number, compaction, turns_of)
        if not is_message(message):
            conversation.tally.add("not a message", number)
            continue
        for type in unread_types(message):
            conversation.tally.add(f"unknown content type: {make_visible(type)}", number)
        begin = len(conversation.turns)
        _say(conversation, message, number, header, history, by_human)
        if isinstance(message.get("id"), str):
            turns_of[message["id"]] = range(begin, len(conversation.turns))
    for event in history.elsewhere:
        conversation.tally.add("model call whose answer is not in the messages", event)
    return conversation


def _refuse_too_many(data: bytes) -> None:
    """Raises `SessionError` for a list that would not fit into memory once it is decoded."""
    if data.count(b",") >= MOST_ELEMENTS:
        document = Document(data)
        for keys in _LISTS:
            for _ in document.elements(*keys, tally=Tally()):
                pass


def _written(data: bytes) -> _Written:
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    value = decode_json(data)  # NaN, lone surrogates: what JSON does not allow and Python writes
    if value is BROKEN or not isinstance(value, dict):
        raise SessionError("a sample of the log is no JSON object")
    try:
        return _decode(msgspec.json.encode(value))
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError, TypeError):
        return _Written(
            uuid=value.get("uuid"),
            input=value.get("input"),
            messages=_raw(value.get("messages")),
            attachments=_raw(value.get("attachments")),
            metadata=_raw(value.get("metadata")),
        )


def _raw(value: Any) -> Raw:
    try:
        return Raw(msgspec.json.encode(value))
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError, TypeError):
        return _NOTHING


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """The same value with the texts that were moved out of it; pictures stay out."""
    if isinstance(value, list):
        return [_resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments) for key, item in value.items()}
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        found = attachments.get(value.removeprefix(_ATTACHMENT))
        is_text = isinstance(found, str) and not found.startswith("data:")
        return found if is_text else value
    return value


def _human_by(sample: Sample) -> Callable[[dict[str, Any]], bool]:
    """How to tell which user messages of this sample are a human's."""
    messages = [message for message in sample.messages if is_message(message)]
    if any(message["role"] == "user" and _is_marked_human(message) for message in messages):
        return _is_marked_human
    if all(message.get("source") is None for message in messages):
        return lambda message: True
    given = sample.input if isinstance(sample.input, list) else [{"content": sample.input}]
    texts = {text_of(item.get("content")) for item in given if isinstance(item, dict)}
    return lambda message: text_of(message.get("content")) in texts


def _is_marked_human(message: dict[str, Any]) -> bool:
    return message.get("source") in ("input", "operator")


def _compact(
    conversation: Conversation, number: int, event: Event, turns_of: dict[str, range]
) -> None:
    conversation.compact(number, **compaction_facts(event))
    if event.type != "edit":
        kept = [index for id in event.kept for index in turns_of.get(id, ())]
        conversation.keep(sorted(kept))


def _say(
    conversation: Conversation,
    message: dict[str, Any],
    number: int,
    header: Header,
    history: History,
    by_human: Callable[[dict[str, Any]], bool],
) -> None:
    """Take in one message; the instructions before anything is said are the system prompt."""
    role, model, id = message["role"], message.get("model"), message.get("id")
    pieces = pieces_of(message)
    if role == "system" and not conversation.turns:
        conversation.system += [piece.text for piece in pieces if piece is not None]
        return
    if is_summary(message):
        if not history.announces(number - 1):
            conversation.compact(number, kind=CompactionKind.FULL)
        _mark(pieces, Kind.SUMMARY, Speaker.SUMMARISER)
    elif role == "user" and by_human(message):
        _mark(pieces, Kind.USER, Speaker.HUMAN)
    elif role == "assistant" and message.get("source") == "input":
        _mark(pieces, None, Speaker.HARNESS)  # a made-up answer that the sample began with
    conversation.say(
        Message(
            line=number,
            span=Span(number - 1, 0),
            pieces=pieces,
            model=model if isinstance(model, str) else header.model,
            version=header.version,
            time=history.time_of.get(id) if isinstance(id, str) else None,
        )
    )


def _mark(pieces: list[Piece | None], kind: Kind | None, speaker: Speaker) -> None:
    for piece in pieces:
        if piece is not None:
            piece.kind, piece.speaker = kind or piece.kind, speaker
