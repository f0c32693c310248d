"""Small Codex rollouts, line by line, in the shapes that real ones have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contextecho.sessions import Session, read_session

BEGAN = datetime(2026, 6, 1, tzinfo=UTC)


def uuid_at(seconds: float, number: int = 0) -> str:
    """A UUID of version 7 made so many seconds after the beginning."""
    milliseconds = int((BEGAN + timedelta(seconds=seconds)).timestamp() * 1000)
    digits = f"{milliseconds:012x}70008000{number:012x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def entry(kind: str, payload: dict[str, Any], at: float = 0, **more: Any) -> dict[str, Any]:
    """A line; `at` is in seconds after the beginning."""
    stamp = (BEGAN + timedelta(seconds=at)).isoformat(timespec="milliseconds")
    return {"timestamp": stamp.replace("+00:00", "Z"), **more, "type": kind, "payload": payload}


def meta(at: float = 0, **fields: Any) -> dict[str, Any]:
    session = {"id": uuid_at(at), "cwd": "/work", "cli_version": "0.142.0", "source": "cli"}
    return entry("session_meta", session | {"base_instructions": {"text": "Be good."}} | fields, at)


def context(at: float = 0, model: str = "gpt-a", **fields: Any) -> dict[str, Any]:
    mode = {"mode": "default", "settings": {"model": model}}
    given = {"turn_id": uuid_at(at), "model": model, "personality": "pragmatic"}
    return entry("turn_context", given | {"collaboration_mode": mode} | fields, at)


def item(kind: str, at: float = 0, **fields: Any) -> dict[str, Any]:
    return entry("response_item", {"type": kind, **fields}, at)


def event(kind: str, at: float = 0, **fields: Any) -> dict[str, Any]:
    return entry("event_msg", {"type": kind, **fields}, at)


def given(*texts: str, role: str = "user", at: float = 0) -> dict[str, Any]:
    """What the model was given."""
    content = [{"type": "input_text", "text": text} for text in texts]
    return item("message", at, role=role, content=content)


def typed(text: str, at: float = 0) -> list[dict[str, Any]]:
    """A typed message as the file has it: the model is given it, then the event."""
    return [given(text, at=at), event("user_message", at, message=text, images=[])]


def answer(text: str, phase: str | None = None, at: float = 0) -> list[dict[str, Any]]:
    """What the model says, said twice."""
    content = [{"type": "output_text", "text": text}]
    said = {"role": "assistant", "content": content} | ({"phase": phase} if phase else {})
    return [event("agent_message", at, message=text, phase=phase), item("message", at, **said)]


def call(id: str = "c1", name: str = "exec_command", at: float = 0) -> dict[str, Any]:
    return item("function_call", at, name=name, arguments='{"cmd":"ls"}', call_id=id)


def output(text: Any = "a.py", id: str = "c1", at: float = 0) -> dict[str, Any]:
    return item("function_call_output", at, call_id=id, output=text)


def task(at: float = 0) -> dict[str, Any]:
    return event("task_started", at, turn_id=uuid_at(at))


def tokens(total: int, at: float = 0) -> dict[str, Any]:
    return event("token_count", at, info={"last_token_usage": {"total_tokens": total}})


def write(path: Path, lines: Iterable[dict[str, Any] | bytes]) -> Path:
    path.write_bytes(
        b"".join(
            line
            if isinstance(line, bytes)
            else json.dumps(line, ensure_ascii=False).encode() + b"\n"
            for line in lines
        )
    )
    return path


def read(folder: Path, *lines: dict[str, Any] | list[dict[str, Any]]) -> Session:
    """Write these lines and read them."""
    flat = [each for line in lines for each in (line if isinstance(line, list) else [line])]
    return read_session(write(folder / "rollout.jsonl", flat))
