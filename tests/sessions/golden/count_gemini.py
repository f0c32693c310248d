"""Counts a file of Gemini CLI a second time, with `json` alone and no code of ours.

The rules are those of the format notes. A log is played back to the messages that it ends
with; a person read every message in the user's name and named those that no human typed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

INJECTED = ("<session_context>", "<state_snapshot>", "System: Please continue.")
CANNED = "Got it. Thanks for the additional context!"
EXPANDED = "You are an AI agent that brings the power of Gemini directly into the terminal"
"""How the client's expansion of `/init` begins; what the human typed is "/init"."""

Said = list[tuple[int, str]]


def count(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    if text.startswith("["):
        return _history(json.loads(text))
    numbered = _played(text) if path.suffix == ".jsonl" else _document(text)
    models = dict.fromkeys(m["model"] for _, m in numbered if m.get("model"))
    answers = [m for _, m in numbered if m["type"] == "gemini" and _says(m)]
    if not answers:
        return {"error": "holds no conversation"}
    typed = [
        (n, "/init" if EXPANDED in said else said)
        for n, m in numbered
        if m["type"] == "user" and not (said := _text(m["content"])).startswith(INJECTED)
    ]
    skipped: Counter[str] = Counter()
    # A call that was cancelled is written apart from its answer, milliseconds later, without
    # words or tokens, and with the thoughts of the answer after it (read, message by message).
    cut_off = [m for m in answers if "cancelled" in _states(m) and not m.get("tokens")]
    for _, message in numbered:
        skipped["client notice"] += message["type"] in ("info", "warning", "error")
    skipped["thought of the next message"] = sum(len(m.get("thoughts") or ()) for m in cut_off)
    reasons = {reason: times for reason, times in skipped.items() if times}
    return _summary(typed, len(answers) - len(cut_off), answers, 0, list(models), reasons)


def _document(text: str) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(json.loads(text)["messages"], 1))


def _played(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The messages of a log, each as it was written last, at the line of the first."""
    messages: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        value = json.loads(line) if line.strip() else {}
        if "type" in value:
            first = messages.get(value["id"], (number, {}))[0]
            messages[value["id"]] = (first, value)
    return list(messages.values())


def _history(contents: list[dict[str, Any]]) -> dict[str, Any]:
    """What the API was sent: results have the role of the user too."""
    typed: Said = []
    answers = calls = 0
    for number, content in enumerate(contents, 1):
        parts = content["parts"]
        text = "\n".join(part["text"] for part in parts if "text" in part)
        if content["role"] == "model":
            answers += text != CANNED
            calls += sum("functionCall" in part for part in parts)
        elif text and not text.startswith(INJECTED):
            typed.append((number, text))
    return _summary(typed, answers, [], calls, [], {}) | {"compactions": 1}


def _summary(
    typed: Said,
    steps: int,
    answers: list[dict[str, Any]],
    calls: int,
    models: list[str],
    skipped: dict[str, int],
) -> dict[str, Any]:
    return {
        "prompts": len(typed),
        "steps": steps,
        "tool_calls": calls + sum(len(m.get("toolCalls") or ()) for m in answers),
        "compactions": 0,
        "models": models,
        "skipped": skipped,
        "human_lines": [number for number, _ in typed],
        "first_human": _digest(typed[0][1]),
        "last_human": _digest(typed[-1][1]),
    }


def _states(message: dict[str, Any]) -> list[str]:
    return [call["status"] for call in message.get("toolCalls") or ()]


def _says(message: dict[str, Any]) -> bool:
    return bool(_text(message["content"]).strip() or message.get("toolCalls"))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if "text" in part).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
