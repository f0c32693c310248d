"""A made-up Claude Code session of any size, the same at every call.

The one thing to know: kinds and sizes of the records are as in the 24 larger real files, of
100 records 45 of the model, 27 of the user (nearly all of them results, 7 kB each), 20 of
progress, 3 kB on average; a third of the bytes are copies that no model is shown.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = [
    *("the", "session", "index", "returns", "a", "reader", "for", "each", "record", "and", "it"),
    *("keeps", "no", "text", "while", "tests", "run", "over", "files", "that", "the", "client"),
    *("wrote", "in", "pieces", "so", "that", "every", "turn", "has", "its", "place", "–", "café"),
]
CODE = [
    "def read(path: str) -> list[dict[str, object]]:",
    '    """Read "path" line by line."""',
    "    with open(path, encoding='utf-8') as file:",
    "\treturn [json.loads(line) for line in file if line.strip()]",
    '    if value is None: raise ValueError(f"line {n}: unexpected \\"{token}\\"")',
    "",
    'const url = `${base}/api/v1/sessions/${id}?full=true`;  // "C:\\\\temp"',
    '    assert.Equal(t, 42, len(result.Items), "items → %v", result)',
]


def write_session(path: Path, size: int) -> None:
    """A session of about `size` bytes, in the proportions of real files."""
    with path.open("w", encoding="utf-8") as file:
        written = 0
        for record in records():
            line = json.dumps(record, ensure_ascii=False) + "\n"
            written += file.write(line)
            if written >= size:
                return


def records() -> Iterator[dict[str, Any]]:
    """Prompts, thoughts, remarks, tool calls with progress, results with copies beside them.

    Compacted every 300 steps, about 150,000 tokens, as the client does.
    """
    rng = random.Random(42)
    parent: str | None = None
    for exchange in range(10_000_000):
        steps = [snapshot(rng), prompt(rng)] if exchange % 8 == 0 else []
        steps += answer(rng, exchange)
        if exchange % 8 == 7:
            steps.append(hooks(rng))
        if exchange % 300 == 299:
            steps += compaction(rng)
        for record in steps:
            if record["type"] != "file-history-snapshot":
                record = envelope(rng, parent, exchange) | record
                parent = record["uuid"]
            yield record


def envelope(rng: random.Random, parent: str | None, exchange: int) -> dict[str, Any]:
    """The fields of every record in the tree, in the client's order."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/project",
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "version": "2.1.62",
        "gitBranch": "main",
        "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
        "timestamp": f"2026-01-{exchange // 8640 % 28 + 1:02}T{exchange // 360 % 24:02}:00:00.000Z",
    }


def snapshot(rng: random.Random) -> dict[str, Any]:
    """What the client notes of files before a prompt; it stands outside the tree."""
    files = {f"src/reader_{n}.py": {"backupFileName": None, "version": n} for n in range(8)}
    message = str(uuid.UUID(int=rng.getrandbits(128)))
    held = {"messageId": message, "trackedFileBackups": files}
    return {"type": "file-history-snapshot", "messageId": message, "snapshot": held}


def hooks(rng: random.Random) -> dict[str, Any]:
    """What the client's hooks did at the end of an exchange."""
    return {"type": "system", "subtype": "stop_hook_summary", "hookInfos": [prose(rng, 20)]}


def prompt(rng: random.Random) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": prose(rng, 60)}}


def compaction(rng: random.Random) -> list[dict[str, Any]]:
    facts = {"trigger": "auto", "preTokens": rng.randrange(150_000, 170_000)}
    summary = f"This session is being continued from a previous conversation. {prose(rng, 1500)}"
    return [
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": facts},
        {
            "type": "user",
            "isCompactSummary": True,
            "message": {"role": "user", "content": summary},
        },
    ]


def answer(rng: random.Random, exchange: int) -> list[dict[str, Any]]:
    """One agent step: thought, remark, call, progress, result."""
    call = f"toolu_{exchange:024}"
    said = [
        {
            "type": "assistant",
            "requestId": f"req_{exchange:024}",
            "message": {
                "id": f"msg_{exchange:024}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [block],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage(rng),
            },
        }
        for block in blocks(rng, call, edits=exchange % 2 == 0)
    ]
    return [*said, *(edited(rng, call) if exchange % 2 == 0 else ran(rng, call))]


def blocks(rng: random.Random, call: str, *, edits: bool) -> Iterator[dict[str, Any]]:
    if rng.random() < 0.4:
        yield {"type": "thinking", "thinking": prose(rng, 120), "signature": "Ab+/" * 150}
    if rng.random() < 0.5:
        yield {"type": "text", "text": prose(rng, 30)}
    if edits:
        change = {"file_path": "/home/dev/project/src/reader.py", "replace_all": False}
        change |= {"old_string": code(rng, 8), "new_string": code(rng, 10)}
        yield {"type": "tool_use", "id": call, "name": "Edit", "input": change}
    else:
        ask = {"command": f"cd /home/dev/project && grep -n {rng.choice(WORDS)!r} -r src | head"}
        ask |= {"description": prose(rng, 5)}
        yield {"type": "tool_use", "id": call, "name": "Bash", "input": ask}


def usage(rng: random.Random) -> dict[str, Any]:
    return {
        "input_tokens": 3,
        "cache_creation_input_tokens": rng.randrange(5000),
        "cache_read_input_tokens": rng.randrange(150_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 512},
        "output_tokens": rng.randrange(800),
        "service_tier": "standard",
    }


def edited(rng: random.Random, call: str) -> list[dict[str, Any]]:
    """The result of an edit: a few lines shown, the whole file and the patch beside them."""
    patch: dict[str, Any] = {"oldStart": 1, "oldLines": 8, "newStart": 1, "newLines": 10}
    patch |= {"lines": [f"+{line}" for line in code(rng, 18).split("\n")]}
    beside = {
        "filePath": "/home/dev/project/src/reader.py",
        "originalFile": code(rng, 110),
        "structuredPatch": [patch],
        "userModified": False,
    }
    hook = {"type": "hook_progress", "hookEvent": "PostToolUse", "command": prose(rng, 10)}
    return [progress(call, hook), result(call, numbered(code(rng, 25)), beside)]


def ran(rng: random.Random, call: str) -> list[dict[str, Any]]:
    """The result of a command, every other with progress before it."""
    output = code(rng, 70)
    data = {"type": "bash_progress", "output": output[-400:], "fullOutput": output[-1000:]}
    beside = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    before = [progress(call, data)] if rng.random() < 0.5 else []
    return [*before, result(call, output, beside)]


def progress(call: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"type": "progress", "data": data, "toolUseID": call, "parentToolUseID": call}


def result(call: str, text: str, beside: dict[str, Any]) -> dict[str, Any]:
    block = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": False}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "toolUseResult": beside,
    }


def prose(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def code(rng: random.Random, lines: int) -> str:
    return "\n".join(rng.choices(CODE, k=lines))


def numbered(text: str) -> str:
    return "\n".join(f"{n:6}→{line}" for n, line in enumerate(text.split("\n"), 1))
