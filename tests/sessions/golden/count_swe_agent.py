"""Counts a trajectory of SWE-agent a second time, with `json` alone and no code of ours.

The rules are those of the format notes: a run has one task and no human after it; a
demonstration holds another agent's words. A person read the first messages of every file.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def count(path: Path) -> dict[str, Any]:
    history = json.loads(path.read_text("utf-8"))["history"]
    numbered = list(enumerate(history, 1))
    answers = [entry for entry in history if entry["role"] == "assistant"]
    number, task = next(
        (n, entry)
        for n, entry in numbered
        if entry["role"] == "user" and not entry.get("is_demo") and entry.get("agent")
    )
    digest = hashlib.sha256(_text(task["content"]).encode()).hexdigest()
    return {
        "prompts": 1,
        "steps": len(answers),
        "tool_calls": sum(len(a.get("tool_calls") or [a.get("action")]) for a in answers),
        "compactions": 0,
        "models": [],
        "skipped": {},
        "human_lines": [number],
        "first_human": digest,
        "last_human": digest,
    }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
