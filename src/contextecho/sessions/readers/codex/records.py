"""The lines of a Codex rollout, as far as this reader looks at them.

The one thing to know: a line is a `Record` with a `Payload`, and a payload is one struct for
every kind of it. What is not named here (encrypted reasoning, output of commands in events,
pictures) is skipped by the decoder without building an object. A line with a field of an
unexpected type is decoded again field by field (`record_of`), so an odd field costs that
field and never the line.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from contextecho.sessions.building.fields import moment
from contextecho.sessions.building.fitting import fitting
from contextecho.sessions.building.jsontext import BROKEN, decode_json

NOTHING: Final = Raw()

FIRST_KEYS: Final = ("timestamp", "type", "record_type")
"""What a record may begin with, by which it is found behind the stub of another."""


class Block(Struct, gc=False):
    """One block of a message, of reasoning, or of a tool's output."""

    type: str = ""
    text: str | None = None
    content: str | None = None  # of a failed call's output, in the form of old clients
    success: bool | None = None


class Usage(Struct, gc=False):
    """Tokens of one API response."""

    total_tokens: int | None = None


class TokenInfo(Struct, gc=False):
    """What `token_count` says."""

    last_token_usage: Usage | None = None


class Mode(Struct, gc=False):
    """A declared collaboration mode."""

    mode: str | None = None


class Item(Struct, gc=False):
    """The item of an `item_completed` event."""

    type: str = ""
    content: list[Block] | None = None


class Metadata(Struct, gc=False):
    """What newer clients note beside an item."""

    compaction_output: bool | None = None  # said for a compaction, not in the conversation


class HistoryBase(Struct, gc=False):
    """From where a file goes on: another one, up to a byte of it."""

    thread_id: str = ""  # of the rollout, which is a thread's only if that was never reverted
    end_byte_offset: Annotated[int, Meta(ge=0)] | None = None


class Payload(Struct, gc=False):
    """What a line holds, of whatever kind it is."""

    type: str = ""
    role: str | None = None
    phase: str | None = None
    content: str | list[Block] | None = None
    summary: str | list[Block] | None = None  # of reasoning; a setting in `turn_context`
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None  # of a function call a string of JSON, of a tool search an object
    input: Any = None
    action: Any = None
    output: str | list[Block] | Block | None = None
    tools: Any = None
    results: Any = None
    result: Raw = NOTHING  # of a picture that was made: base64
    revised_prompt: str | None = None
    message: str | None = None
    kind: Any = None  # of a message in an event
    images: list[Raw] | None = None
    local_images: list[Raw] | None = None
    item: Item | None = None
    info: TokenInfo | None = None
    num_turns: int | None = None
    reason: str | None = None
    turn_id: str | None = None
    replacement_history: Raw = NOTHING
    model: str | None = None
    personality: str | None = None
    collaboration_mode: str | Mode | None = None
    cwd: str | None = None
    timestamp: str | None = None  # of a session's metadata: when it began
    cli_version: str | None = None
    source: Any = None
    thread_source: str | None = None
    forked_from_id: str | None = None
    history_base: HistoryBase | None = None
    history_mode: str | None = None
    subagent_history_start_ordinal: int | None = None
    parent_thread_id: str | None = None
    session_id: str | None = None
    base_instructions: str | Block | None = None


class Record(Struct, gc=False):
    """One line of the file. A bare line of an old client has the payload's fields itself."""

    type: str = ""
    timestamp: datetime | None = None
    ordinal: int | None = None
    payload: Payload | None = None
    record_type: str | None = None
    metadata: Metadata | None = None


ITEMS: Final = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *("custom_tool_call_output", "local_shell_call", "web_search_call", "tool_search_call"),
        *("tool_search_output", "image_generation_call", "agent_message", "ghost_snapshot"),
        *("compaction", "compaction_summary", "compaction_trigger", "context_compaction"),
        *("additional_tools", "other"),
    }
)
"""What a `response_item` can be."""

LINES: Final = frozenset(
    {
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted"),
        *("world_state", "inter_agent_communication", "inter_agent_communication_metadata"),
        *("rollout_reference", "token_usage_record", "retained_context"),
    }
)
"""What a line can be."""

EVENTS: Final = frozenset(
    {
        *("task_complete", "turn_complete", "turn.completed", "turn_aborted", "turn_diff"),
        *("undo_started", "undo_completed", "thread_rolled_back", "thread_name_updated"),
        *("thread_goal_updated", "thread_settings_applied", "context_compacted", "error"),
        *("warning", "guardian_warning", "stream_error", "deprecation_notice", "model_reroute"),
        *("model_verification", "background_event", "session_configured", "shutdown_complete"),
        *("entered_review_mode", "exited_review_mode", "plan_update", "plan_delta"),
        *("exec_command_begin", "exec_command_output_delta", "exec_command_end"),
        *("terminal_interaction", "view_image_tool_call", "patch_apply_begin"),
        *("patch_apply_updated", "patch_apply_end", "mcp_tool_call_begin", "mcp_tool_call_end"),
        *("mcp_startup_update", "mcp_startup_complete", "web_search_begin", "web_search_end"),
        *("image_generation_begin", "image_generation_end", "dynamic_tool_call_request"),
        *("dynamic_tool_call_response", "exec_approval_request", "apply_patch_approval_request"),
        *("request_permissions", "request_user_input", "elicitation_request"),
        *("guardian_assessment", "hook_started", "hook_completed", "sub_agent_activity"),
        *("collab_agent_spawn_begin", "collab_agent_spawn_end", "collab_agent_interaction_begin"),
        *("collab_agent_interaction_end", "collab_waiting_begin", "collab_waiting_end"),
        *("collab_close_begin", "collab_close_end", "collab_resume_begin", "collab_resume_end"),
        *("item_started", "item_completed", "raw_response_item", "agent_reasoning_section_break"),
    }
)
"""What an `event_msg` can be that says nothing which the items do not."""

_decode: Callable[[bytes], Record] = msgspec.json.Decoder(Record).decode
_decode_items: Callable[[Raw], list[Payload]] = msgspec.json.Decoder(list[Payload]).decode
_BARE: Final = ITEMS - {"agent_message", "other"}
_PICTURE_LISTS: Final = frozenset({"images", "local_images"})
_BLOCK_LISTS: Final = frozenset({"content", "summary", "output"})


def decode_record(data: bytes) -> Record | object:
    """The record in `data`; `BROKEN` if that is no JSON, `None` if it is no object."""
    try:
        record = _decode(data)
        if record.payload is not None:
            return record
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    value: object = decode_json(data)
    if value is BROKEN:
        return BROKEN
    return record_of(value) if isinstance(value, dict) else None


def record_of(value: dict[str, Any]) -> Record:
    """The record that a decoded line is; what does not fit is dropped."""
    payload = value.get("payload")
    if payload is None and is_old_head(value):
        record = fitting(Record, {"timestamp": value["timestamp"]}, _fit)
        record.type, record.payload = "session_meta", fitting(Payload, value, _fit)
        return record
    if payload is None and isinstance(value.get("type"), str) and value["type"] in _BARE:
        return Record("response_item", payload=fitting(Payload, value, _fit))
    record = fitting(Record, {key: value[key] for key in value if key != "payload"}, _fit)
    if isinstance(payload, dict):
        record.payload = fitting(Payload, payload, _fit)
    return record


def is_record(value: Any) -> bool:
    """Whether a decoded value is a line of this format, and not a piece of one."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(value.get("payload"), dict):
        return isinstance(kind, str) and kind in LINES
    return value.get("record_type") == "state" or is_old_head(value)


def is_old_head(value: dict[str, Any]) -> bool:
    """Whether this is the first line of a client before 0.32: metadata without a type."""
    return (
        isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and "instructions" in value
        and value.keys().isdisjoint({"type", "role"})
    )


def decode_history(data: Raw) -> list[Payload]:
    """The items of a compaction's replacement history; those that are no items are dropped."""
    try:
        return _decode_items(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        items = decode_json(data)
    items = items if isinstance(items, list) else []
    return [fitting(Payload, item, _fit) for item in items if isinstance(item, dict)]


def _fit(kind: type[Struct], name: str, given: Any) -> Any:
    """Bring times, lists of blocks and of pictures, and a base, to their types."""
    if kind is Record and name == "timestamp":
        return moment(given)
    if name == "history_base" and isinstance(given, dict):
        return fitting(HistoryBase, given, _fit)
    if name in _BLOCK_LISTS and isinstance(given, list):
        return [_block(item) for item in given]
    if name in _PICTURE_LISTS and isinstance(given, list):
        return [NOTHING] * len(given)
    return given


def _block(item: Any) -> Block:
    """A block; bare strings in a list of blocks are texts."""
    if isinstance(item, str):
        return Block("text", item)
    return fitting(Block, item, _fit) if isinstance(item, dict) else Block()
