"""Counts files of the smaller formats a second time, with `json` alone and no code of ours.

The rules are those of the format notes, one function a format. A person read every message in
the user's name; what no human typed is named where it is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Counted = dict[str, Any]
Typed = list[tuple[int, str]]


def count(path: Path) -> Counted:
    counters: dict[str, Callable[[Path], Counted]] = {
        "pi": _pi,
        "opencode": _opencode,
        "copilot": _copilot,
        "openhands": _openhands,
        "openai-chat": _chat,
    }
    return next(counters[part](path) for part in path.parts if part in counters)


def _pi(path: Path) -> Counted:
    """A step is an assistant's message with anything in it; empty ones were aborted or failed."""
    entries = [json.loads(line) for line in _lines(path)]
    messages = [(n, e["message"]) for n, e in enumerate(entries, 1) if e["type"] == "message"]
    answers = [m for _, m in messages if m["role"] == "assistant"]
    typed = [(n, _joined(m["content"])) for n, m in messages if m["role"] == "user"]
    said = [m for m in answers if m["content"]]
    calls = sum(part["type"] == "toolCall" for m in said for part in m["content"])
    ends = [m["stopReason"] for m in answers if not m["content"]]
    changes = [entry["type"] for entry in entries]
    skipped = {
        "change of the thinking level": changes.count("thinking_level_change"),
        "change of the model": changes.count("model_change"),
        "aborted before a word": ends.count("aborted"),
        "error in place of an answer": ends.count("error"),
    }
    models = list(dict.fromkeys(m["model"] for m in said))
    compactions = sum(e["type"] == "compaction" for e in entries)
    return _counted(typed, len(said), calls, compactions, models, skipped)


def _opencode(path: Path) -> Counted:
    """An export: synthetic texts and the message that asks for a summary are the client's."""
    if "storage_v2" in path.parts:
        return _opencode_tree(path)
    messages = json.loads(path.read_text("utf-8"))["messages"]
    typed, answers, thoughts = [], [], 0
    for number, message in enumerate(messages, 1):
        parts = message["parts"]
        if message["info"]["role"] == "assistant":
            if message["info"].get("summary") is True:
                thoughts += sum(part["type"] == "reasoning" for part in parts)
            else:
                answers.append(message)
            continue
        own = [p["text"] for p in parts if p["type"] == "text" and not p.get("synthetic")]
        typed += [(number, "\n".join(own))] if own else []
    models = dict.fromkeys(f"{m['info']['providerID']}/{m['info']['modelID']}" for m in answers)
    calls = sum(part["type"] == "tool" for m in answers for part in m["parts"])
    skipped = {"thinking behind a summary": thoughts} if thoughts else {}
    compactions = sum(m["info"].get("summary") is True for m in messages)
    return _counted(typed, len(answers), calls, compactions, list(models), skipped)


def _opencode_tree(path: Path) -> Counted:
    """The tree of one session, of two messages with a part each; other files are no session."""
    if "session" not in path.parts:
        return {"error": "a message of an OpenCode session"}
    text = json.loads((path.parents[2] / "part/m_user_small/001.json").read_text("utf-8"))["text"]
    return _counted([(1, text)], 1, 1, 0, ["openai/gpt-4o-mini"], {})


def _copilot(path: Path) -> Counted:
    events = [json.loads(line) for line in _lines(path)]
    kinds = [event["type"] for event in events]
    answers = [e["data"] for e in events if e["type"] == "assistant.message"]
    wanted = [call["toolCallId"] for data in answers for call in data.get("toolRequests") or ()]
    results = [e["data"]["toolCallId"] for e in events if e["type"] == "tool.execution_complete"]
    # The second message of the user is empty: the client tells the model to go on.
    typed = [
        (n, e["data"]["content"])
        for n, e in enumerate(events, 1)
        if e["type"] == "user.message" and e["data"]["content"]
    ]
    changes = ("session.model_change", "session.mode_changed")
    skipped = {
        "session event": sum(kind.startswith("session.") for kind in kinds),
        "assistant event": sum(kind.startswith("assistant.turn") for kind in kinds),
        "tool event": kinds.count("tool.execution_start"),
        "tool result without a request": sum(result not in wanted for result in results),
        "repeated system prompt": kinds.count("system.message") - 1,
    }
    assert set(changes) <= set(kinds)
    named = [e["data"]["newModel"] for e in events if e["type"] == "session.model_change"]
    return _counted(typed, len(answers), len(wanted), 0, named[-1:], skipped)


def _openhands(path: Path) -> Counted:
    """Events of V0; of an evaluation the instance that the name behind the mark names."""
    file, _, instance = str(path).partition("#")
    text = Path(file).read_text("utf-8")
    if instance:
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        row = next(row for row in rows if row["instance_id"] == instance)
        events = row["history"]
    else:
        events = json.loads(text)
    typed: Typed = []
    steps: dict[str, bool] = {}
    calls = 0
    models: dict[str, None] = {}
    skipped = {"times without a zone, taken as UTC from here on": 1}
    for number, event in enumerate(events, 1):
        action, answer = event.get("action"), _raw_answer(event)
        if event.get("source") == "user" and action == "message":
            typed.append((number, event["args"]["content"]))
        elif event.get("source") == "agent" and action not in (None, "system", "recall"):
            steps[answer.get("id") or f"event {number}"] = True
            calls += action not in ("message", "finish")
            models |= dict.fromkeys([answer["model"]] if answer else [])
        noise = action or event.get("observation")
        if noise in ("agent_state_changed", "change_agent_state", "null", "recall"):
            reason = f"client's event: {noise}"
            skipped[reason] = skipped.get(reason, 0) + 1
    return _counted(typed, len(steps), calls, 0, list(models), skipped)


def _raw_answer(event: dict[str, Any]) -> dict[str, Any]:
    return (event.get("tool_call_metadata") or {}).get("model_response") or {}


def _chat(path: Path) -> Counted:
    """Plain messages do not tell a human from a program: each of a user counts as a prompt."""
    messages = json.loads(path.read_text("utf-8"))
    typed = [(n, m["content"]) for n, m in enumerate(messages, 1) if m["role"] == "user"]
    return _counted(typed, sum(m["role"] == "assistant" for m in messages), 0, 0, [], {})


def _counted(
    typed: Typed, steps: int, calls: int, compactions: int, models: list[str], skipped: Counted
) -> Counted:
    return {
        "prompts": len(typed),
        "steps": steps,
        "tool_calls": calls,
        "compactions": compactions,
        "models": models,
        "skipped": {reason: times for reason, times in skipped.items() if times},
        "human_lines": [number for number, _ in typed],
        "first_human": _digest(typed[0][1]),
        "last_human": _digest(typed[-1][1]),
    }


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").split("\n") if line.strip()]


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
