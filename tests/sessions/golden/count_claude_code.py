"""Counts a Claude Code file a second time, by the rules of the format notes and with `json` alone.

    export PYTHONPATH=tests
    python -m sessions.golden.count_claude_code FOLDER            # the counts, as JSON
    python -m sessions.golden.count_claude_code FOLDER --read     # every message, to be read

The one thing to know: this shares no code with the reader, and goes about it another way. A
whole file is in memory, each question is a pass of its own over it, nothing is streamed and
nothing is remembered from one record to the next but in plain dictionaries. With `--read` it
prints what a human typed, and beside it everything in the user's name that it takes for the
client's: that list was read by a person for every file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from sessions.golden.typed_claude_code import (
    RESUMED,
    UNREADABLE,
    Record,
    blocks_of,
    human_messages,
    is_blank,
    occasions,
    text_of,
    why_silent,
)

METADATA = {
    *("summary", "file-history-snapshot", "file-history-delta", "last-prompt", "custom-title"),
    *("ai-title", "agent-name", "agent-color", "agent-setting", "permission-mode", "mode"),
    *("pr-link", "worktree-state", "relocated", "frame-link", "bridge-session", "atis-latch"),
    *("started", "result"),
}
BOUNDARY = "compact_boundary"


def records_of(path: Path) -> tuple[list[tuple[int, Any]], Counter[str]]:
    """(line, value) of every JSON value, and how many lines had to be mended."""
    found: list[tuple[int, Any]] = []
    mended: Counter[str] = Counter()
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line)))
        except ValueError:
            text, place, pieces = line.decode("utf-8", "replace"), 0, 0
            while place < len(text):
                try:
                    value, place = json.JSONDecoder().raw_decode(text, place)
                except ValueError:
                    break
                found.append((number, value))
                pieces += 1
            mended["broken line, records saved" if pieces else "broken line"] += 1
    return found, mended


def first_of_each(found: list[tuple[int, Any]]) -> tuple[list[tuple[int, Record]], Counter[str]]:
    """The main thread, each uuid once, and what was dropped on the way.

    Of two records with one uuid the first counts, unless nothing can be read in it.
    """
    kept: list[tuple[int, Record]] = []
    dropped: Counter[str] = Counter()
    seen: set[str] = set()
    for line, record in found:
        if not isinstance(record, dict):
            dropped["not a JSON object"] += 1
            continue
        kind, uuid = record.get("type", ""), record.get("uuid")
        if kind == "progress":
            dropped["progress"] += 1
        elif record.get("isSidechain") is True:
            dropped["sub-agent record"] += 1
            continue
        elif uuid in seen:
            dropped["repeated record"] += 1
        else:
            kept.append((line, record))
        unreadable = kind in ("user", "assistant") and why_silent(record) == UNREADABLE
        if uuid and not unreadable:
            seen.add(uuid)
    return kept, dropped


def withdrawn(records: list[tuple[int, Record]], everything: list[tuple[int, Any]]) -> set[str]:
    """uuids of answers that the client took back, of those in the main thread."""
    named = {
        uuid
        for _, record in everything
        if isinstance(record, dict)
        for uuid in record.get("supersedesUuids") or record.get("retractedMessageUuids") or ()
    }
    return named & {r["uuid"] for _, r in records if r.get("type") == "assistant" and "uuid" in r}


def row_turns(path: Path) -> int:
    """Rows of the model, and rows of the user with text and no tool result, as the paper counts."""
    turns = 0
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        kinds = [block.get("type") for block in blocks_of(row) if block.get("text") != ""]
        says = "text" in kinds and "tool_result" not in kinds
        turns += row.get("type") == "assistant" or (row.get("type") == "user" and says)
    return turns


def answers(records: list[tuple[int, Record]], taken_back: set[str]) -> dict[str, Any]:
    """Messages of the model and their tool calls, its names, and what of it was dropped."""
    messages: dict[Any, None] = {}
    calls: dict[Any, None] = {}
    models: dict[str, None] = {}
    dropped: Counter[str] = Counter()
    said: set[str] = set()
    for line, record in records:
        if record.get("type") != "assistant" or why_silent(record):
            continue
        message = record["message"]
        own = message.get("id") or f"line {line}"
        if message.get("model"):
            models[message["model"]] = None
        if record.get("uuid") in taken_back:
            dropped["answer that the client withdrew"] += 1
            continue
        messages[record.get("sessionId"), own] = None
        for number, block in enumerate(blocks_of(record)):
            what = block.get("id") or block.get("text") or block.get("thinking")
            key = json.dumps([own, what])
            if what and key in said and not is_blank(block):
                dropped["repeated content block"] += 1
                continue
            said.add(key)
            if block["type"] == "tool_use":
                calls[own, block.get("id") or (line, number)] = None
    return {"messages": messages, "calls": calls, "models": list(models), "dropped": dropped}


def other_records(records: list[tuple[int, Record]], spoken: set[int]) -> Counter[str]:
    """Why each record that says nothing in the conversation does not."""
    dropped: Counter[str] = Counter()
    for line, record in records:
        kind = record.get("type", "")
        if kind in ("user", "assistant"):
            dropped[why_silent(record)] += 1
        elif kind in ("queue-operation", "attachment"):
            dropped[kind.replace("-", " ")] += line not in spoken
        elif kind == "system":
            dropped["client notice"] += not str(record.get("subtype")).endswith(BOUNDARY)
        elif kind in METADATA:
            dropped["client metadata"] += 1
        else:
            dropped[f"unknown record type: {kind}" if kind else "record without type"] += 1
    del dropped[""]
    return dropped


def compactions(records: list[tuple[int, Record]]) -> tuple[int, int]:
    """Full ones, by boundaries or by summaries where there are more of them, and partial ones."""
    boundaries = Counter(r.get("subtype") for _, r in records if r.get("type") == "system")
    summaries = [
        record
        for _, record in records
        if record.get("type") == "user"
        and any((block.get("text") or "").startswith(RESUMED) for block in blocks_of(record))
    ]
    return max(boundaries[BOUNDARY], len(summaries)), boundaries["micro" + BOUNDARY]


def count(path: Path) -> dict[str, Any]:
    """What the golden file says of one session file, without how it was checked."""
    found, dropped = records_of(path)
    records, repeated = first_of_each(found)
    humans = human_messages(records)
    model = answers(records, withdrawn(records, found))
    if not model["messages"]:
        return {"error": refusal(path, found, records, humans)}
    dropped += repeated + model["dropped"] + other_records(records, {line for line, _ in humans})
    full, micro = compactions(records)
    first, last = (humans[0][1][0], humans[-1][1][-1]) if humans else (None, None)
    return {
        "prompts": len(humans),
        "prompt_kinds": occasions(records),
        "steps": len(model["messages"]),
        "row_turns": row_turns(path),
        "tool_calls": len(model["calls"]),
        "compactions": full,
        "microcompactions": micro,
        "models": model["models"],
        "skipped": dict(sorted(dropped.items())),
        "human_lines": [line for line, _ in humans],
        "first_human": first and hashlib.sha256(first.encode()).hexdigest(),
        "last_human": last and hashlib.sha256(last.encode()).hexdigest(),
    }


def refusal(
    path: Path,
    found: list[tuple[int, Any]],
    records: list[tuple[int, Record]],
    humans: list[tuple[int, list[str]]],
) -> str:
    """What is said of a file with no message of a model in its main thread."""
    if not path.stat().st_size:
        return "is empty"
    if path.suffix == ".json":
        return "not a session"
    talk = [r for _, r in records if r.get("type") in ("user", "assistant")]
    if not talk and any(isinstance(r, dict) and r.get("isSidechain") for _, r in found):
        return "holds only a sub-agent's conversation"
    return f"holds no conversation: {len(humans)} prompts, no message of a model"


def show(path: Path) -> None:
    """Print what a human typed, and what stands in the user's name and was typed by nobody."""
    found, _ = records_of(path)
    records, _ = first_of_each(found)
    humans = human_messages(records)
    for line, texts in humans:
        for text in texts:
            print(f"{line:6} HUMAN   {text[:300]!r}")
    for line, record in records:
        kind = record.get("type")
        texts = []
        if kind == "user" and line not in dict(humans):
            texts = [
                text_of(block.get("text") or block.get("content")) for block in blocks_of(record)
            ]
        elif kind == "queue-operation":
            texts = [f"{record['operation']} {text_of(record.get('content'))}"]
        elif kind == "attachment":
            texts = [text_of(record["attachment"].get("prompt"))]
        for text in texts:
            if text and (kind != "user" or "tool_result" not in str(record) or "user" in text[:60]):
                print(f"{line:6} {kind:15} {text[:300]!r}")


def main() -> None:
    """Print the golden file, or with `--read` the messages, for all files below a folder."""
    folder = Path(sys.argv[1])
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if "--read" in sys.argv:
            if path.suffix == ".jsonl":
                print(f"\n## {name}")
                show(path)
        else:
            print(json.dumps({str(name): count(path)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
