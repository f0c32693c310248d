"""The records of a Claude Code file, as far as this reader looks at them.

The one thing to know: everything not named here (progress output, base64
bodies, original files of edits) is skipped by the decoder without building an
object, which is where the speed and the small memory come from. A record with
a field of an unexpected type is decoded again field by field (`_leniently`),
so an odd field costs that field and never the record.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from contextecho.sessions.building.fields import moment
from contextecho.sessions.building.fitting import fitting
from contextecho.sessions.building.jsontext import BROKEN, decode_json

NOTHING: Final = Raw()


class Named(Struct, gc=False):
    """What names a model, and is looked at for nothing else."""

    model: str | None = None


class Block(Struct, gc=False):
    """One content block of a message. The fields stand in the order of the client's (`Record`)."""

    tool_use_id: str | None = None
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = NOTHING
    content: Raw = NOTHING  # of a tool result: most of what is said, and rarely looked at
    is_error: bool | None = None
    # Of a fallback: who spoke before.
    before: Named | None = msgspec.field(default=None, name="from")


class Message(Struct, gc=False):
    """The API message inside a user or assistant record."""

    model: str | None = None
    id: str | None = None
    content: str | list[Block] | None = None


class Origin(Struct, gc=False):
    """Who produced a user record, as newer clients say."""

    kind: str | None = None


class CompactMetadata(Struct, gc=False, rename="camel"):
    """What a compaction boundary says about itself."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    tokens_saved: int | None = None  # of a microcompaction
    compacted_tool_ids: tuple[str, ...] = ()  # of a microcompaction: the calls it cleared
    preserved_messages: PreservedMessages | None = None
    preserved_segment: PreservedSegment | None = None


class PreservedMessages(Struct, gc=False):
    """Records that a compaction kept verbatim, one by one."""

    uuids: tuple[str, ...] = ()


class PreservedSegment(Struct, gc=False, rename="camel"):
    """Records that a compaction kept verbatim, from head to tail."""

    head_uuid: str | None = None
    tail_uuid: str | None = None


class Attachment(Struct, gc=False, rename="camel"):
    """What the client added to the conversation; only queued commands matter here."""

    type: str = ""
    prompt: str | list[Block] | None = None
    command_mode: str | None = None
    origin: Origin | None = None
    is_meta: bool | None = None
    style: str | None = None  # of an output style
    system_prompt: list[str] | None = None  # of a snapshot of the prompt


class Shape(Struct, gc=False):
    """What the requests to the model have in common; the tools are not looked at."""

    system: str | list[Block] | None = None


class Forked(Struct, gc=False, rename="camel"):
    """Where a record was copied from when the session branched."""

    session_id: str | None = None


class Carried(Struct, gc=False):
    """A sub-agent's message inside a progress record."""

    uuid: str | None = None
    message: Named | None = None


class Progress(Struct, gc=False, rename="camel"):
    """Progress of anything; only a sub-agent's messages matter here."""

    agent_id: str | None = None
    prompt: str | None = None
    message: Carried | None = None


class Record(Struct, gc=False, rename="camel"):
    """One line of the file.

    The fields stand in the order in which the client mostly writes them: the decoder looks for
    the next one first.
    """

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    agent_id: str | None = None
    type: str = ""
    message: Message | None = None
    data: Progress | None = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    uuid: str | None = None
    timestamp: datetime | None = None
    tool_use_result: Raw = NOTHING
    subtype: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    turn_companion: bool | None = None  # goes along with a human's message, and is none
    is_api_error_message: bool | None = None
    is_aborted_mid_stream: bool | None = None
    supersedes_uuids: tuple[str, ...] | None = None
    retracted_message_uuids: tuple[str, ...] | None = None
    origin: Origin | None = None
    prompt_source: str | None = None
    plan_content: str | None = None
    compact_metadata: CompactMetadata | None = None
    microcompact_metadata: CompactMetadata | None = None
    attachment: Attachment | None = None
    permission_mode: str | None = None
    mode: str | None = None
    agent_setting: str | None = None
    shape: Shape | None = None
    forked_from: Forked | None = None
    operation: str | None = None  # of a queue operation
    content: Raw = NOTHING  # of a queue operation: what was typed


CONVERSATION: Final = frozenset({"user", "assistant"})
METADATA: Final = frozenset(
    {
        *("agent-color", "agent-name", "agent-setting", "ai-title", "api-request"),
        *("api-request-blob", "api-request-resumed", "api-request-shape"),
        *("artifact-autoreact-ledger", "artifact-comment-monitor", "atis-latch"),
        *("attribution-snapshot", "bridge-session", "content-replacement", "continued-in"),
        *("cost-state", "custom-title", "data-flow-incomplete", "data-flow-records"),
        *("derived-from", "dev-mods", "ended-by-model", "file-history-delta"),
        *("file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression"),
        *("host-row", "hybrid-organization", "isolation-latch", "last-prompt", "memory-mode"),
        *("mode", "observer-ref", "permission-mode", "pr-link", "relocated", "repl-mode"),
        *("result", "resume-head-vouch", "session-owner", "started", "summary", "tag"),
        *("task-summary", "tools-used", "worktree-state"),
    }
)
KNOWN: Final = CONVERSATION | METADATA | {"system", "progress", "attachment", "queue-operation"}

_decode: Callable[[bytes], Record] = msgspec.json.Decoder(Record).decode
_decode_list: Callable[[Raw], list[Block]] = msgspec.json.Decoder(list[Block]).decode


def decode_record(data: bytes) -> Record | object:
    """The record in `data`; `BROKEN` if that is no JSON, `None` if it is no object."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return BROKEN if data.isspace() else _leniently(decode_json(data))


def decode_blocks(data: Raw) -> list[Block]:
    """The blocks of a content list, whatever stands in it; none if it is no list."""
    try:
        return _decode_list(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        items = decode_json(data)
        return [_fit_block(item) for item in items] if isinstance(items, list) else []


def text_in(message: Message | None) -> str:
    """The texts of a message, line by line."""
    content = message.content if message is not None else None
    return content if isinstance(content, str) else "\n".join(texts_of(content))


def texts_of(content: str | list[Block] | None) -> list[str]:
    """The texts of content, one for each block that is one."""
    if isinstance(content, str):
        return [content]
    return [block.text for block in content or () if block.type == "text" and block.text]


def is_record(value: Any) -> bool:
    """Whether a decoded value looks like a record of this format and not a piece of one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind in METADATA:
        # Their names are everyday words; each carries something only this client writes.
        return not value.keys().isdisjoint({"sessionId", "leafUuid", "messageId", "snapshot"})
    return kind in KNOWN and isinstance(value.get("sessionId"), str)


def is_row(value: Any) -> bool:
    """Whether this is a bare row: a role's type and the API message, as fixtures keep them."""
    message = value.get("message") if isinstance(value, dict) else None
    return (
        isinstance(message, dict)
        and message.get("role") in ("user", "assistant")
        and message.get("role") == value.get("type")
    )


def _leniently(value: object) -> Record | object:
    """A record from a decoded value, dropping the fields that do not fit."""
    if value is BROKEN:
        return BROKEN
    return fitting(Record, value, _fit) if isinstance(value, dict) else None


def _fit(kind: type[Struct], name: str, given: Any) -> Any:
    """Bring times, nested messages and block lists to their types; leave the rest."""
    if kind is Record and name == "timestamp":
        return moment(given)
    if kind is Record and isinstance(given, dict):
        if name == "message":
            return fitting(Message, given, _fit)
        if name == "data":
            return fitting(Progress, given, _fit)
    if name == "content" and isinstance(given, list):
        return [_fit_block(item) for item in given]
    return given


def _fit_block(item: Any) -> Block:
    """A block; bare strings in a content list are texts."""
    if isinstance(item, str):
        return Block(type="text", text=item)
    return fitting(Block, item, _fit) if isinstance(item, dict) else Block()
