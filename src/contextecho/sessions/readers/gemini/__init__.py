"""Reads Gemini CLI: chats as one JSON object, chats as an append-only log, and API histories.

The one thing to know: what is said in a log is known only when all of it is read, since
messages grow and rewinds come later. So a file is gone over twice: first for which
messages there are and where each lies, then to say them. What each module knows:

    speakers    human or client            parts       what a message holds
    log         which messages there are   telling     saying them, in order
    sidechains  sub-agents
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from contextecho.sessions.building.conversation import Conversation
from contextecho.sessions.building.jsontext import BROKEN, decode_json, line_values
from contextecho.sessions.building.placed import Document, Placed, PlacedSource, placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session
from contextecho.sessions.readers.gemini.log import Compacted, Log, is_message
from contextecho.sessions.readers.gemini.parts import part_list, pieces, text_of
from contextecho.sessions.readers.gemini.sidechains import parent_of, sidechains_below
from contextecho.sessions.readers.gemini.telling import Telling
from contextecho.untrusted import make_visible

NAME: Final = "gemini"
_HEAD: Final = 1 << 16
_SIGNS: Final = (b'"projectHash"', b'"gemini"', b'"parts"', b'"$set"', b'"$rewindTo"')
_HISTORIES: Final = ((), ("history",), ("clientHistory",), ("contents",))
_SET: Final = frozenset({"lastUpdated", "messages", "sessionId", "summary", "directories"})
_BEGINS_HISTORY = re.compile(
    rb'\s*(?:\{\s*"(?:history|clientHistory|contents)"\s*:\s*)?\[\s*'
    rb'\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:\s*\[\s*\{\s*"(?!type")'
)
"""How a history begins whose first message is longer than what is looked at."""

_KEYS: Final = ("id", "sessionId", "$set", "$patch", "$rewindTo")


class _Header(Struct):
    """The fields of a chat that is one document, apart from its messages."""

    sessionId: str | None = None  # noqa: N815 (as it is written)
    kind: str | None = None
    directories: list[str] | None = None


class _Facts(Struct):
    """What a file says of its session besides the messages."""

    session_id: str | None = None
    subagent: bool = False
    folder: str | None = None

    def learn(self, value: dict[str, Any]) -> None:
        """Take in a header, or a later change of it."""
        if isinstance(value.get("sessionId"), str):
            self.session_id = self.session_id or value["sessionId"]
        self.subagent = self.subagent or value.get("kind") == "subagent"
        folders = value.get("directories")
        if isinstance(folders, list) and folders and isinstance(folders[0], str):
            self.folder = self.folder or folders[0]


def sniff(head: bytes) -> bool:
    """Whether this begins a chat of Gemini CLI, or a history of its API."""
    if not any(sign in head for sign in _SIGNS):
        return False
    if any(map(_is_sign, line_values(head))):
        return True
    first, _, rest = head.lstrip().partition(b"\n")
    if rest.strip() and decode_json(first) is not BROKEN:
        return False  # a file of lines, of something else
    if _BEGINS_HISTORY.match(head):
        return True
    document = Document(head)
    facts = {key: document.value(key) for key in ("sessionId", "projectHash")}
    return _is_header(facts) or _history(document) is not None


def read(path: Path) -> Session:
    """Index the file. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        source = PlacedSource(path, stamp, pieces)
        conversation = Conversation()
        if _is_log(file, stamp.size):
            facts, cwd = _read_log(file, stamp.size, source, conversation)
        else:
            facts, cwd = _read_document(file, stamp.size, source, conversation)
    id = make_visible(facts.session_id or path.stem)
    return conversation.session(
        path,
        format=NAME,
        bytes=stamp.size,
        source=source,
        id=id,
        cwd=cwd or facts.folder,
        parent=parent_of(path) if facts.subagent else None,
        sidechains=() if facts.subagent else tuple(sidechains_below(path, id)),
    )


def _read_log(
    file: BinaryIO, end: int, source: PlacedSource, conversation: Conversation
) -> tuple[_Facts, str | None]:
    facts, log = _Facts(), Log(conversation.tally)
    for placed in placed_lines(file, end, conversation.tally, _is_record, _KEYS):
        source.place(placed)
        _take(placed, log, facts, conversation.tally, file)
    return facts, _tell(file, log, facts, conversation)


def _read_document(
    file: BinaryIO, end: int, source: PlacedSource, conversation: Conversation
) -> tuple[_Facts, str | None]:
    data = file.read(end)
    document, facts = Document(data), _Facts()
    _note_rest(data, conversation.tally)
    facts.learn(_header_of(data, document))
    if facts.session_id is None and (keys := _history(document)) is not None:
        telling = Telling(conversation)
        _learn_system(document, conversation)
        for placed in document.elements(*keys, tally=conversation.tally):
            if _is_content(placed.value):
                source.place(placed)
                telling.content(placed)
            else:
                conversation.tally.add("not a message", placed.line)
        return facts, telling.cwd
    log = Log(conversation.tally)
    for placed in document.elements("messages", tally=conversation.tally):
        if is_message(placed.value):
            source.place(placed)
            log.add(placed)
        else:
            conversation.tally.add("not a message", placed.line)
    return facts, _tell(file, log, facts, conversation)


def _take(placed: Placed, log: Log, facts: _Facts, tally: Tally, file: BinaryIO) -> None:
    """Take one record of a log in."""
    record, line = placed.value, placed.line
    if isinstance(record.get("$rewindTo"), str):
        log.rewind(line, record["$rewindTo"])
    elif isinstance(record.get("$patch"), dict):
        log.patch(line, record["$patch"])
    elif isinstance(record.get("$set"), dict):
        facts.learn(record["$set"])
        _show(placed, record["$set"], ("$set", "messages"), log, tally, file)
    elif isinstance(record.get("id"), str):
        log.add(placed)
    elif isinstance(record.get("sessionId"), str) and "type" not in record:
        facts.learn(record)
        _show(placed, record, ("messages",), log, tally, file)
    else:
        kind = record.get("type")
        tally.add(f"unknown record type: {kind or 'without type'}", line)


def _show(
    placed: Placed,
    holder: dict[str, Any],
    keys: tuple[str, ...],
    log: Log,
    tally: Tally,
    file: BinaryIO,
) -> None:
    """Take in the messages that a record lists, if it does."""

    def place() -> Iterator[Placed]:
        data = _load(file, placed.span.offset, placed.span.length)
        return Document(data, placed.span.offset).elements(*keys, tally=tally)

    if isinstance(holder.get("messages"), list) and (holder["messages"] or keys[0] == "$set"):
        log.show(placed.line, holder["messages"], place)


def _tell(file: BinaryIO, log: Log, facts: _Facts, conversation: Conversation) -> str | None:
    """Say all that was found; the working folder, where a message names it."""
    telling = Telling(conversation, by_model_only=facts.subagent)
    for item in log.said:
        if isinstance(item, Compacted):
            telling.compact(item)
        else:
            telling.record(item, decode_json(_load(file, item.span.offset, item.span.length)))
    return telling.cwd


def _load(file: BinaryIO, offset: int, length: int) -> bytes:
    """Bytes of the file, without losing the place in it."""
    place = file.tell()
    file.seek(offset)
    data = file.read(length)
    file.seek(place)
    return data


def _header_of(data: bytes, document: Document) -> dict[str, Any]:
    """What a chat that is one document says of itself, before its messages and after them."""
    try:
        return msgspec.structs.asdict(msgspec.json.decode(data, type=_Header))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {key: document.value(key) for key in ("sessionId", "kind", "directories")}


def _note_rest(data: bytes, tally: Tally) -> None:
    """Count what stands behind a document that the first line ends."""
    end = data.find(b"\n")
    if end >= 0 and re.compile(rb"\S").search(data, end) and decode_json(data[:end]) is not BROKEN:
        tally.add("text after the document", 1)


def _learn_system(document: Document, conversation: Conversation) -> None:
    """The system prompt, which a dump of a request to the API holds."""
    given = document.value("systemInstruction")
    parts = given.get("parts") if isinstance(given, dict) else given
    conversation.system += filter(None, [text_of(part_list(parts)) if parts is not BROKEN else ""])


def _is_log(file: BinaryIO, end: int) -> bool:
    """Whether a file is records by the line, and not one document; the file is left at 0."""
    head = file.read(min(_HEAD, end)) + file.readline()
    file.seek(0)
    first = next(filter(_is_record, line_values(head)), None)
    alone = len(head) >= end and b"\n" not in head.strip()
    return first is not None and not (alone and "messages" in first)


def _is_sign(value: Any) -> bool:
    """Whether this is a record that only this client writes."""
    return _is_record(value) and (not is_message(value) or value["type"] == "gemini")


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    changes = value.get("$set")
    return (
        (is_message(value) and "content" in value)
        or isinstance(value.get("$rewindTo"), str)
        or isinstance(value.get("$patch"), dict)
        or (isinstance(changes, dict) and not _SET.isdisjoint(changes))
        or _is_header(value)
    )


def _is_header(value: dict[str, Any]) -> bool:
    return isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str)


def _history(document: Document) -> tuple[str, ...] | None:
    """Where a document keeps a history of the API, if it does."""
    for keys in _HISTORIES:
        if document.has_array(*keys):
            found = document.elements(*keys, tally=Tally())
            if any(_is_content(placed.value) for placed in found):
                return keys
    return None


def _is_content(value: Any) -> bool:
    """Whether this is a message of the API; other formats' parts have types."""
    return (
        isinstance(value, dict)
        and value.get("role") in ("user", "model")
        and isinstance(value.get("parts"), list)
        and not any("type" in part for part in value["parts"] if isinstance(part, dict))
    )
