"""Any session as a log of Inspect (`inspect_ai`): one sample, its messages, its compactions.

The one thing to know: Inspect knows no rewinds, steps or segments. The messages are the
conversation as it went on; what they cannot say (abandoned turns, places, what a reader
left out) stands under `contextecho` in the metadata of the message or of the sample.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from contextecho.sessions.building.jsontext import scrub
from contextecho.sessions.converting.normalised import Count, header_of, turn_line
from contextecho.sessions.model import CompactionKind, Content, Kind, Session, Speaker, Turn

OURS: Final = "contextecho"
"""The key, in the metadata of a message and of the sample, of what a log has no field for."""

_BY_MODEL: Final = frozenset({Kind.ASSISTANT, Kind.THINKING, Kind.TOOL_CALL})
_LONGEST_ID: Final = 200
_NOT_IN_NAMES: Final = re.compile(r"[^\w.@+=-]+")
_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)  # of every zip entry: the same session, the same bytes

Group = tuple[int, ...]
"""The turns, by index, that are one message of the log."""

Part = tuple[int, Turn, Content]
"""A turn of a message, with its index and its content."""


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the metadata of a message says of a turn in it, and `more` of the turns after it."""

    index: Count  # among the session's turns: what its compactions refer to
    speaker: Speaker
    line: Count  # in the file that was converted
    row_turn: Count
    step: Count
    prompt: Count
    segment: Count
    time: float | None = None
    version: str | None = None
    mode: str | None = None
    personality: str | None = None
    final: bool = False
    broken_off: bool = False
    quoted: bool = False
    steering: bool = False
    more: tuple[Place, ...] = ()


SHARED: Final = tuple(n for n in Place.__struct_fields__ if n in Turn.__struct_fields__)
"""The fields that a place and a turn have in common."""


def write_eval(session: Session, file: BinaryIO) -> None:
    """Write an `.eval` log. Raises `SessionError` when the session changed since it was read."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    id = _sample_id(session)
    start = {key: _log(session)[key] for key in ("version", "eval", "plan")}
    entries: dict[str, Iterable[bytes]] = {
        "_journal/start.json": [_json(start)],
        f"samples/{id}_epoch_1.json": _sample(session),
        "summaries.json": [_json([_summary(session)])],
        "header.json": [_json(_log(session))],
    }
    with ZipFile(file, "w", ZIP_DEFLATED) as log:
        for name, pieces in entries.items():
            entry = ZipInfo(name, _FIRST_DAY)
            entry.compress_type = ZIP_DEFLATED
            with log.open(entry, "w", force_zip64=True) as written:
                for piece in pieces:
                    written.write(piece)


def write_json(session: Session, file: BinaryIO) -> None:
    """Write a log that is one JSON document. Raises like `write_eval`."""
    file.write(_json(_log(session)).removesuffix(b"}") + b',"samples":[')
    file.writelines(_sample(session))
    file.write(b"]}\n")


def _sample(session: Session) -> Iterator[bytes]:
    """The sample as pieces of JSON, one message's content held at a time."""
    first = next((t for t in session.turns if t.speaker is Speaker.HUMAN), None)
    times = _times(session)
    sample = {
        "id": _sample_id(session),
        "epoch": 1,
        "input": "" if first is None else session.text(first),
        "target": "",
        "output": {"model": _model(session), "choices": []},
        "events": [_event(session, number) for number in range(len(session.compactions))],
        "started_at": times[0],
        "completed_at": times[1],
    }
    yield _json(sample).removesuffix(b"}") + b',"messages":['
    yield from _separated(_messages(session))
    about = msgspec.to_builtins(header_of(session), enc_hook=str)
    about.pop("row_turn_lines", None)
    yield b'],"metadata":{"contextecho":' + _json(about).removesuffix(b"}") + b',"abandoned":['
    left = [(index, turn) for index, turn in enumerate(session.turns) if turn.abandoned]
    contents = session.contents([turn for _, turn in left])
    yield from _separated(
        msgspec.to_builtins(turn_line(index, turn, content))
        for (index, turn), content in zip(left, contents, strict=True)
    )
    yield b"]}}}"


def _separated(values: Iterable[Any]) -> Iterator[bytes]:
    for number, value in enumerate(values):
        yield (b"," if number else b"") + _json(value)


def _messages(session: Session) -> Iterator[dict[str, Any]]:
    if session.system:
        yield {"id": "system", "role": "system", "content": session.system, "source": "input"}
    groups = _groups(session.turns)
    contents = session.contents([session.turns[index] for index in chain.from_iterable(groups)])
    for group in groups:
        parts = [(index, session.turns[index], next(contents)) for index in group]
        yield _message(_as_read(parts))


def _groups(turns: Sequence[Turn]) -> list[Group]:
    """The turns that went on, message by message: the model's calls before their results."""
    groups: dict[Any, list[int]] = {}
    for index, turn in enumerate(turns):
        if turn.abandoned:
            continue
        if turn.kind in _BY_MODEL:
            key: Any = (turn.message, "model")
        elif turn.kind is Kind.USER and not turn.quoted:
            key = (turn.message, turn.speaker)
        else:
            key = index
        groups.setdefault(key, []).append(index)
    return [tuple(group) for group in groups.values()]


def _as_read(parts: list[Part]) -> list[Part]:
    """The parts of a message in the order in which they are read: the model's calls last."""
    return sorted(parts, key=lambda part: part[1].kind is Kind.TOOL_CALL)


def _message(parts: Sequence[Part]) -> dict[str, Any]:
    index, turn, content = parts[0]
    images = sum(content.images for *_, content in parts)
    ours = _ours(index, turn) | ({"images": images} if images else {})
    if len(parts) > 1:
        ours["more"] = [_ours(index, turn) for index, turn, _ in parts[1:]]
    message: dict[str, Any] = {"id": f"turn-{index}", "metadata": {OURS: ours}}
    if turn.kind in _BY_MODEL:
        return message | _of_model(parts)
    if turn.kind is Kind.TOOL_RESULT:
        return message | _result(turn, content)
    if turn.kind is Kind.SUMMARY:
        message["metadata"]["summary"] = True  # as Inspect marks its own
    elif turn.speaker is Speaker.HUMAN:
        message["source"] = "input"
    text = "\n".join(content.text for *_, content in parts)
    return message | {"role": "user", "content": text}


def _of_model(parts: Sequence[Part]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for index, turn, content in parts:
        if turn.kind is Kind.THINKING:
            blocks.append({"type": "reasoning", "reasoning": content.text})
        elif turn.kind is Kind.ASSISTANT:
            blocks.append({"type": "text", "text": content.text})
        else:
            calls.append(_call(index, turn, content))
    _, turn, _ = parts[0]
    source = "generate" if turn.speaker is Speaker.MODEL else "input"
    message = {"role": "assistant", "content": blocks, "source": source}
    return (
        message
        | ({"tool_calls": calls} if calls else {})
        | ({"model": turn.model} if turn.model else {})
    )


def _call(index: int, turn: Turn, content: Content) -> dict[str, Any]:
    call: dict[str, Any] = {
        "id": turn.call_id or f"call-{index}",
        "function": turn.tool or "unknown",
        "arguments": dict(content.arguments or {}),
        "type": "function",
    }
    if not content.arguments and content.text.strip() not in ("", "{}"):
        call["arguments"] = {"text": content.text}
        call["parse_error"] = "the arguments are no JSON object; `text` holds them as written"
    return call


def _result(turn: Turn, content: Content) -> dict[str, Any]:
    error = {"type": "unknown", "message": content.text} if turn.is_error else None
    return {
        "role": "tool",
        "content": content.text,
        "tool_call_id": turn.call_id,
        "function": turn.tool,
        "error": error,
    }


def _ours(index: int, turn: Turn) -> dict[str, Any]:
    """What of a turn has no field in a log: its places, and what the client declared."""
    shared = {name: getattr(turn, name) for name in SHARED}
    said: dict[str, Any] = msgspec.to_builtins(Place(index=index, **shared))
    return said


def _event(session: Session, number: int) -> dict[str, Any]:
    """A compaction as an event; its time is that of the turn before it."""
    compaction = session.compactions[number]
    place = bisect_right(session.turns, compaction.line, key=lambda turn: turn.line)
    before = (turn.time for turn in reversed(session.turns[:place]) if turn.time is not None)
    is_micro = compaction.kind is CompactionKind.MICRO
    return {
        "event": "compaction",
        "uuid": f"compaction-{number}",
        "timestamp": _iso(next(before, 0.0)),
        "working_start": 0,
        "type": "edit" if is_micro else "summary",
        "tokens_before": compaction.tokens_before,
        "tokens_after": compaction.tokens_after,
        "source": session.format,
        "metadata": {
            "trigger": compaction.trigger,
            OURS: msgspec.to_builtins(compaction),
        },
    }


def _source(session: Session) -> dict[str, Any]:
    """The file that was converted; `copies` knows the log by it."""
    return {
        "source_format": session.format,
        "sha256": session.sha256,
        "bytes": session.bytes,
    }


def _log(session: Session) -> dict[str, Any]:
    """The log without its samples."""
    begun, ended = _times(session)
    name = session.sha256[:22]
    id = _sample_id(session)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": name,
            "task_id": name,
            "created": begun,
            "task": "session",
            "task_version": 0,
            "dataset": {"samples": 1, "sample_ids": [id], "shuffled": False},
            "model": _model(session),
            "config": {},
            "metadata": {OURS: _source(session)},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": 1, "completed_samples": 1, "scores": []},
        "stats": {"started_at": begun, "completed_at": ended, "model_usage": {}},
    }


def _summary(session: Session) -> dict[str, Any]:
    return {
        "id": _sample_id(session),
        "epoch": 1,
        "input": "",
        "target": "",
        "completed": True,
        "message_count": len(_groups(session.turns)) + bool(session.system),
    }


def _sample_id(session: Session) -> str:
    """The session's id as a part of a file's name anywhere: it names an entry of the zip file.

    The id itself stands in the metadata.
    """
    return _NOT_IN_NAMES.sub("_", session.id).strip(".")[:_LONGEST_ID] or "session"


def _model(session: Session) -> str:
    return session.models[0] if session.models else "unknown"


def _times(session: Session) -> tuple[str, str]:
    """When the session began and ended; 1970 where no turn has a time."""
    times = [turn.time for turn in session.turns if turn.time is not None] or [0.0]
    return _iso(min(times)), _iso(max(times))


def _iso(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC).isoformat()


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub(value))
