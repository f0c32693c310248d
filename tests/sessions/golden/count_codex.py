"""Counts a Codex rollout a second time, with `json` alone and no code of ours.

The rules are those of the format notes: the model's words, calls and thoughts are the API's
items, what a human typed is in the events; a step is what the model says between two things
that are said to it. A person read every message in the user's name, of both kinds.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

SAID = ("AgentMessage", "Reasoning")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
CALLS += ("tool_search_call", "image_generation_call")
SPEAKING = ("response_item", "event_msg", "compacted")
TURN_ENDS = ("task_complete", "turn_complete", "turn_aborted")
METADATA = ("session_meta", "turn_context", "world_state")


def count(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    if not any(_kind(line) in ("message", *CALLS) for line in lines):
        return {"error": "holds no conversation"}
    reviews = _requests_of_reviews(lines)
    said = [(n, text) for n, line in enumerate(lines, 1) if (text := _typed(line))]
    typed = [(n, text) for n, text in said if n not in reviews]
    steps = calls = 0
    open_step = False
    models: dict[str, None] = {}
    model = ""
    for line in lines:
        payload = line.get("payload") or {}
        if line["type"] == "turn_context":
            model = payload.get("model", model)
        if line["type"] == "compacted" or _is_said_to_the_model(line):
            open_step = False
        if _is_by_the_model(line):
            calls += _kind(line) in CALLS
            steps += not open_step
            open_step = True
            models[model] = None
    return {
        "prompts": len(typed),
        "prompt_kinds": _occasions(lines, {n for n, _ in typed}),
        "steps": steps,
        "tool_calls": calls,
        "compactions": sum(line["type"] == "compacted" for line in lines),
        "models": list(models),
        "skipped": _skipped(lines, {text for _, text in typed})
        | ({"request of a review, said to another session": len(reviews)} if reviews else {}),
        "human_lines": [n for n, _ in typed],
        "first_human": _digest(typed[0][1]) if typed else None,
        "last_human": _digest(typed[-1][1]) if typed else None,
    }


def _requests_of_reviews(lines: list[dict[str, Any]]) -> set[int]:
    """The lines of typed messages with a review entered before, and no turn begun since."""
    found, entered = set(), False
    for n, line in enumerate(lines, 1):
        if line["type"] == "turn_context" or _kind(line) == "exited_review_mode":
            entered = False
        entered |= _kind(line) == "entered_review_mode"
        if entered and _typed(line):
            found.add(n)
    return found


def _occasions(lines: list[dict[str, Any]], typed: set[int]) -> dict[str, int]:
    """How many were typed to begin a turn, and how many while it went on.

    No file has an answer to a question; were there one, the prompts would not add up.
    """
    kinds: Counter[str] = Counter()
    of_turn = 0
    for n, line in enumerate(lines, 1):
        if line["type"] == "turn_context" or _kind(line) in ("task_started", *TURN_ENDS):
            of_turn = 0
        if n in typed:
            kinds["steering" if of_turn else "typed"] += 1
            of_turn += 1
    return dict(kinds)


def _skipped(lines: list[dict[str, Any]], typed: set[str]) -> dict[str, int]:
    """Why each line without a turn has none."""
    reasons: Counter[str] = Counter()
    seen_metadata = False
    said: set[str] = set()
    for line in lines:
        said.add((_typed(line) or _text(line.get("payload") or {})).partition("\n")[0])
        payload, kind = line.get("payload") or {}, _kind(line)
        if line["type"] == "session_meta" and seen_metadata:
            reasons["metadata of another session"] += 1
        elif line["type"] in METADATA or line["type"] not in SPEAKING:
            reasons["client metadata"] += 1
            seen_metadata |= line["type"] == "session_meta"
        elif line["type"] == "compacted":
            reasons["compaction summary encrypted or not recorded"] += not payload["message"]
            # Only in the sampler, whose texts are all one phrase: nobody had said it by then.
            kept = [_text(m) for m in payload["replacement_history"] if m.get("role") == "user"]
            lost = [text for text in kept if text.partition("\n")[0] not in said]
            reasons["message kept by a compaction, no turn as it stands"] += len(lost)
        elif line["type"] == "response_item":
            text = _text(payload)
            if kind == "reasoning" and not any(payload.get(k) for k in ("summary", "content")):
                reasons["reasoning encrypted or not recorded"] += 1
            if payload.get("role") == "user" and any(text.strip().endswith(t) for t in typed):
                reasons["typed message, said again"] += 1
            reasons["client metadata"] += kind == "ghost_snapshot"
        elif kind in ("agent_message", "agent_reasoning") or _item(line) in SAID:
            reasons["said again in an event"] += 1
        elif kind == "token_count":
            reasons["token count"] += 1
        elif not _typed(line) and not payload.get("results"):  # those are a search's result
            reasons["client event"] += 1
    return {reason: count for reason, count in reasons.items() if count}


def _kind(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    return str(payload.get("type")) if isinstance(payload, dict) else ""


def _text(payload: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in payload.get("content") or () if block)


def _item(line: dict[str, Any]) -> str:
    item = (line.get("payload") or {}).get("item")
    return str(item.get("type")) if isinstance(item, dict) else ""


def _typed(line: dict[str, Any]) -> str | None:
    """What a human typed, as an event tells it; without what an editor put in front."""
    payload = line.get("payload") or {}
    if line["type"] != "event_msg":
        return None
    if payload.get("type") == "user_message":
        text = str(payload["message"])
    elif payload.get("type") == "item_completed" and payload["item"].get("type") == "UserMessage":
        text = "\n".join(part.get("text", "") for part in payload["item"]["content"])
    else:
        return None
    return text.rpartition("## My request for Codex:")[2].strip()


def _is_by_the_model(line: dict[str, Any]) -> bool:
    payload = line.get("payload") or {}
    if line["type"] != "response_item":
        return False
    if payload["type"] == "message":
        return payload["role"] == "assistant"
    return payload["type"] in CALLS or payload["type"] == "reasoning"


def _is_said_to_the_model(line: dict[str, Any]) -> bool:
    payload = line.get("payload") or {}
    if line["type"] != "response_item":
        return line["type"] == "event_msg" and payload.get("type") == "task_started"
    return payload["type"].endswith("_output") or payload.get("role") in ("user", "developer")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    import sys

    for name in sys.argv[1:]:
        print(name, json.dumps(count(Path(name)), indent=1))
