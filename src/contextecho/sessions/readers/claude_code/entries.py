"""What the index keeps of one line: all that a record says by itself, without its text.

The one thing to know: making an entry looks at one line and nothing else, so entries
can be made in another process (`ahead`); what depends on other lines is decided from
entries, one after the other, in `assembly`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from contextecho.sessions.building.fields import seconds
from contextecho.sessions.building.jsontext import BROKEN, mend_line
from contextecho.sessions.readers.claude_code.asides import (
    Aside,
    aside_of,
    asked,
    copied_from,
    told_of,
)
from contextecho.sessions.readers.claude_code.parts import Part, parts_of
from contextecho.sessions.readers.claude_code.records import (
    CONVERSATION,
    CompactMetadata,
    Progress,
    Record,
    decode_record,
    is_record,
    text_in,
)

SYNTHETIC: Final = "<synthetic>"
_FIRST_KEYS: Final = ("parentUuid", "type")  # of a record found behind the stub of another
UNREADABLE: Final = "message without readable content"


class Entry(Struct, array_like=True, gc=False):
    """One record, or (with the type "") a line that holds none."""

    line: int
    offset: int
    length: int
    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    time: float | None = None  # seconds since 1970, UTC
    message_id: str | None = None
    model: str | None = None
    is_row_turn: bool = False
    parts: list[Part] = []
    aside: Aside | None = None  # what it says beside the conversation
    is_sidechain: bool = False
    agent_id: str | None = None
    left_out: str = ""  # why this message, or line, is no part of the conversation
    unknown: tuple[str, ...] = ()  # types of blocks that the reader does not know
    withdraws: tuple[str, ...] = ()  # records whose words of the model this one takes back
    broken_off: bool = False  # an answer that the client aborted in mid-stream
    subtype: str | None = None
    compaction: CompactMetadata | None = None
    operation: str | None = None


def entries_in(lines: Iterable[bytes], begin: int, line_offsets: array[int]) -> Iterator[Entry]:
    """The entries of lines that stand in the file from byte `begin` on, numbered from 1.

    Where each line begins is appended to `line_offsets`.
    """
    offset = begin
    for number, line in enumerate(lines, 1):
        line_offsets.append(offset)
        record = decode_record(line)
        if isinstance(record, Record):
            yield entry_of(record, line, number, offset)
        elif record is not BROKEN:
            yield Entry(number, offset, len(line), left_out="not a JSON object")
        elif line.strip():
            yield from _mended(line, number, offset)
        offset += len(line)


def entry_of(record: Record, data: bytes, line: int, offset: int) -> Entry:
    """What the index keeps of a record, which `data` holds."""
    kind, message = record.type, record.message
    if kind == "progress":  # a third of many files, and only a sub-agent's is looked at
        entry = Entry(line, offset, len(data), kind, record.uuid, record.parent_uuid)
        if record.data is not None and record.data.agent_id:
            _look_at_progress(entry, record, record.data)
        return entry
    unknown: list[str] = []
    parts = [] if record.is_sidechain else parts_of(record, unknown)
    # By position: of a call with so many names, most of the time goes to the names.
    entry = Entry(
        line,
        offset,
        len(data),
        kind,
        record.uuid,
        record.parent_uuid,
        record.session_id,
        record.cwd,
        record.version,
        seconds(record.timestamp),
        message.id if message is not None else None,
        message.model if message is not None else None,
        _is_row_turn(record),
        parts,
    )
    if record.is_sidechain:
        _look_at_sidechain(entry, record)
        return entry
    entry.aside = aside_of(record, parts)
    if record.forked_from is not None:
        entry.aside = copied_from(record.forked_from, entry.aside)
    for part in parts:
        part.forget()
    if unknown:
        entry.unknown = tuple(unknown)
    if taken_back := record.supersedes_uuids or record.retracted_message_uuids:
        entry.withdraws = taken_back
    if kind not in CONVERSATION:
        entry.subtype = record.subtype
        entry.operation = record.operation
        entry.compaction = record.compact_metadata or record.microcompact_metadata
    elif not parts or record.is_api_error_message or entry.model == SYNTHETIC:
        entry.left_out = _left_out(record, parts)
    if record.is_aborted_mid_stream:
        entry.broken_off = True
    return entry


def _look_at_progress(entry: Entry, record: Record, told: Progress) -> None:
    """Add which sub-agent this tells of, and what."""
    entry.agent_id = told.agent_id
    entry.aside = told_of(record, told)
    if told.message is not None and told.message.message is not None:
        entry.model = told.message.message.model


def _look_at_sidechain(entry: Entry, record: Record) -> None:
    """Add whose record it is; what a sub-agent says is not kept."""
    entry.is_sidechain = True
    entry.agent_id = record.agent_id
    if record.parent_uuid is None:
        entry.aside = Aside(prompt=asked(text_in(record.message)))


def _mended(line: bytes, number: int, offset: int) -> Iterator[Entry]:
    """What can be saved of a broken line; its records are no row turns, since the line is none."""
    saved = False
    for start, data in mend_line(line, is_record, _FIRST_KEYS):
        record = decode_record(data)
        if isinstance(record, Record):
            saved = True
            entry = entry_of(record, data, number, offset + start)
            entry.is_row_turn = False
            yield entry
    reason = "broken line, records saved" if saved else "broken line"
    yield Entry(number, offset, len(line), left_out=reason)


def _is_row_turn(record: Record) -> bool:
    """The first paper's rule (reference, 1.0), sidechain, meta and error rows included.

    A row turn is an assistant row of any content, or a user row with text and no tool result.
    """
    if record.type != "user" or record.message is None:
        return record.type == "assistant"
    content = record.message.content
    if isinstance(content, str) or content is None:
        return bool(content)
    has_text = False
    for block in content:
        if block.type == "tool_result":
            return False
        has_text |= block.type == "text" and bool(block.text)
    return has_text


def _left_out(record: Record, parts: list[Part]) -> str:
    """Why a message is no part of the conversation; "" if it is."""
    message = record.message
    if message is None or message.content is None:
        return UNREADABLE
    if record.type == "assistant" and record.is_api_error_message:
        return "API error shown as assistant text"
    if record.type == "assistant" and message.model == SYNTHETIC:
        return "synthetic assistant text"
    if parts:
        return ""
    if not isinstance(message.content, str) and any(b.type == "fallback" for b in message.content):
        return "notice that another model took over"
    return "message with nothing but blanks"
