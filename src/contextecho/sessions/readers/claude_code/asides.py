"""What a record says beside the conversation: sub-agents, modes it declares, the system prompt.

The one thing to know: nearly every record says nothing of the kind, and then it has no `Aside`
at all, so that the rest costs nothing. What an aside means for the session is decided from
asides in file order, in `sidechains` and `declared`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from contextecho.sessions.model import RESULT
from contextecho.sessions.readers.claude_code.parts import Part
from contextecho.sessions.readers.claude_code.records import Forked, Progress, Record, texts_of

AGENT_TOOLS: Final = frozenset({"Task", "Agent"})
PERMISSION: Final = "permission"  # keys of `Aside.declares`
KEPT: Final = "kept"  # the permission that the client notes for a resume, again and again
PLAN: Final = "plan"
MODE: Final = "mode"
AGENT: Final = "agent"
STYLE: Final = "style"
REQUESTED: Final = "requested"  # the system prompt, as it was sent
FORKED: Final = "forked"  # from which session
SNAPSHOT: Final = "snapshot"  # the system prompt, as the client composed it

_PLAN_MARKS: Final = {"plan_mode": "on", "plan_mode_exit": "off"}
_AGENT_ID = re.compile(r"\bagentId: ([\w-]+)")
_STYLE_SET = re.compile(r"Set output style to (?:\x1b\[\d*m)*([^\x1b\n<]+)")


class Started(Struct, array_like=True, gc=False):
    """A call that starts a sub-agent."""

    call_id: str
    kind: str | None = None
    prompt: int = 0  # hash of what the sub-agent is asked


class Aside(Struct, array_like=True):
    """What one record says beside the conversation."""

    declares: dict[str, str] = {}
    starts: list[Started] = []
    reports: list[tuple[str, str]] = []  # (call, sub-agent) of results that name both
    call_id: str | None = None  # of the call that started the sub-agent this record is about
    message: str | None = None  # uuid of a sub-agent's message that the record carries
    prompt: int = 0  # hash of what a sub-agent is asked, on the first record of it


class _Input(Struct):
    subagent_type: str | None = None
    prompt: str | None = None


class _Beside(Struct, rename="camel"):
    agent_id: str | None = None


_decode_input = msgspec.json.Decoder(_Input).decode
_decode_beside = msgspec.json.Decoder(_Beside).decode


def told_of(record: Record, told: Progress) -> Aside:
    """What a progress record tells of a sub-agent's message, and of the call that started it."""
    uuid = told.message.uuid if told.message else None
    return Aside(call_id=record.parent_tool_use_id, message=uuid, prompt=asked(told.prompt))


def asked(prompt: str | None) -> int:
    """Stands for what a sub-agent is asked, to find the call by it; 0 if that is not known."""
    return hash(prompt.strip()) if prompt else 0


def aside_of(record: Record, parts: Sequence[Part]) -> Aside | None:
    """What a record of the main thread says beside the conversation, if anything."""
    if record.type == "assistant":
        for part in parts:
            if part.tool in AGENT_TOOLS:
                return Aside(starts=[_started(p) for p in parts if p.tool in AGENT_TOOLS])
    elif record.type == "user":
        for part in parts:
            if part.written is None:  # most records are one result of one string: none of those
                return _users_aside(record, parts)
    elif declares := _declared(record):
        return Aside(declares=declares)
    return None


def copied_from(forked: Forked, aside: Aside | None) -> Aside | None:
    """The aside of a record that was copied when the session branched."""
    if not forked.session_id:
        return aside
    aside = aside or Aside()
    aside.declares = aside.declares | {FORKED: forked.session_id}
    return aside


def _users_aside(record: Record, parts: Sequence[Part]) -> Aside | None:
    declares = _declared_by_user(record, parts)
    reports = [
        (part.call_id, agent)
        for part in parts
        if part.kind is RESULT and part.written is None and part.call_id
        if (agent := _agent_reported(record, part))
    ]
    return Aside(declares=declares, reports=reports) if declares or reports else None


def _started(part: Part) -> Started:
    try:
        given = _decode_input(part.written or b"{}")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        given = _Input()
    return Started(part.call_id or "", given.subagent_type, asked(given.prompt))


def _agent_reported(record: Record, result: Part) -> str | None:
    """The sub-agent whose result this is, from the structured side, else from its last words."""
    # Looked for before anything is decoded: both sides of most results are long, and name none.
    if b'"agentId"' in bytes(record.tool_use_result):
        try:
            beside = _decode_beside(record.tool_use_result)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            beside = _Beside()
        if beside.agent_id:
            return beside.agent_id
    if (last := result.text.rfind("agentId: ")) < 0:
        return None
    named = _AGENT_ID.match(result.text, last)
    return named[1] if named else None


def _declared_by_user(record: Record, parts: Sequence[Part]) -> dict[str, str]:
    declares = {}
    if record.permission_mode:
        declares[PERMISSION] = record.permission_mode
    for part in parts:
        if part.text.startswith("<local-command-stdout>") and (
            style := _STYLE_SET.search(part.text)
        ):
            declares[STYLE] = style[1].strip()
    return declares


def _declared(record: Record) -> dict[str, str]:
    match record.type:
        case "permission-mode" if record.permission_mode:
            return {KEPT: record.permission_mode}
        case "mode" if record.mode:
            return {MODE: record.mode}
        case "agent-setting" if record.agent_setting:
            return {AGENT: record.agent_setting}
        case "api-request-shape" if record.shape is not None:
            return _named(REQUESTED, texts_of(record.shape.system))
        case "attachment" if record.attachment is not None:
            attachment = record.attachment
            if attachment.type == "output_style" and attachment.style:
                return {STYLE: attachment.style}
            if mark := _PLAN_MARKS.get(attachment.type):
                return {PLAN: mark}
            if attachment.type == "prompt_snapshot":
                return _named(SNAPSHOT, attachment.system_prompt or [])
    return {}


def _named(key: str, texts: Sequence[str]) -> dict[str, str]:
    return {key: "\n\n".join(texts)} if texts else {}
