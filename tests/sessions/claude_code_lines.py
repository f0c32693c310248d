"""Small Claude Code files, record by record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from contextecho.sessions import Content, Kind, Turn

_serial = count(1)


def record(kind: str, **fields: Any) -> dict[str, Any]:
    """A record with the envelope of a real one; `fields` win."""
    number = next(_serial)
    envelope = {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
        "version": "2.1.50",
        "cwd": "/work",
        "isSidechain": False,
    }
    return envelope | fields


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return record("user", message={"role": "user", "content": content}, **fields)


def assistant(
    *blocks: dict[str, Any] | str, id: str | None = None, model: str = "claude-x", **fields: Any
) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {"id": id or f"m{next(_serial)}", "role": "assistant", "model": model}
    return record("assistant", message=message | {"content": content}, **fields)


def call(id: str = "t1", name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(text: Any, id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text, **fields}


def queue(operation: str, content: str | None = None) -> dict[str, Any]:
    fields = {} if content is None else {"content": content}
    return {"type": "queue-operation", "operation": operation, "sessionId": "s1", **fields}


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def write(folder: Path, records: Sequence[Any]) -> Path:
    """The records as a file; bytes are written as they are."""
    path = folder / "session.jsonl"
    path.write_bytes(b"".join(r if isinstance(r, bytes) else line(r) for r in records))
    return path


def check_lengths(turns: Sequence[Turn], contents: Sequence[Content]) -> None:
    """`chars` is the length of the text, or what was written for it, which is never less."""
    for turn, content in zip(turns, contents, strict=True):
        if turn.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
            assert turn.chars >= len(content.text), turn
        else:
            assert turn.chars == len(content.text), turn


def chained(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each record below the one before it."""
    parents = [None, *(r.get("uuid") for r in records)]
    return [r | {"parentUuid": parent} for r, parent in zip(records, parents, strict=False)]
