"""Reading a large session: ours against `json.loads` of each line, and an orjson pass.

    python benchmarks/reading.py [--mb 300]

Each contender runs in a process of its own. (a) keeps the list of all records,
as a reader without an index must; (b) only parses and lets go, the floor for
anything that looks at every byte; (c) is ours: index the session and cut twelve
snapshots under the strict protocol, evenly spaced. Printed: wall and CPU seconds,
peak resident memory, and ratios. Targets: (c) at least 4 times faster than (a),
with at most a tenth of its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SNAPSHOTS = 12
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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--mb", type=int, default=300)
    arguments.add_argument("--run", choices=sorted(CONTENDERS), help=argparse.SUPPRESS)
    arguments.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        print(json.dumps(measure(CONTENDERS[options.run], options.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, options.mb * 1_000_000)
        results = {name: run_apart(name, path) for name in CONTENDERS}
    print_table(results, options.mb)


def measure(contender: Callable[[Path], str], path: Path) -> dict[str, Any]:
    """Wall and CPU seconds and peak resident memory of one contender, in this process.

    Imports are made before the clock starts; the memory they take is counted.
    """
    import resource

    contender(Path(os.devnull))
    wall, cpu = time.perf_counter(), time.process_time()
    did = contender(path)
    return {
        "did": did,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def loads_list(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return f"{len(records)} records in a list"


def orjson_pass(path: Path) -> str:
    import orjson

    with path.open("rb") as file:
        return f"{sum(orjson.loads(line) is not None for line in file)} records parsed"


def ours(path: Path) -> str:
    from contextecho.contexts import EstimateCounter, find_positions, load_protocol, take_snapshot
    from contextecho.sessions import read_session

    if path == Path(os.devnull):
        return ""
    session = read_session(path)
    protocol, counter = load_protocol("strict"), EstimateCounter()
    snapshots = [
        take_snapshot(session, position, protocol, counter=counter)
        for position in find_positions(session, f"even:{SNAPSHOTS}")
    ]
    chars = sum(snapshot.chars for snapshot in snapshots) // len(snapshots)
    return f"{len(session.turns)} turns, {len(snapshots)} snapshots of {chars} characters"


CONTENDERS: dict[str, Callable[[Path], str]] = {
    "json.loads list": loads_list,
    "orjson pass": orjson_pass,
    "contextecho": ours,
}


def run_apart(name: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--run", name, "--file", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def print_table(results: dict[str, dict[str, Any]], mb: int) -> None:
    print(f"A session of {mb} MB\n")
    print(f"{'':18}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}   what it did")
    for name, r in results.items():
        print(f"{name:18}{r['wall']:8.2f}{r['cpu']:8.2f}{r['mb']:9.0f}   {r['did']}")
    base, floor, us = (results[name] for name in CONTENDERS)
    print(f"\nagainst json.loads list: {base['wall'] / us['wall']:.1f}x faster (target 4)")
    print(f"                         {base['mb'] / us['mb']:.1f}x less memory (target 10)")
    print(f"against orjson pass:     {floor['wall'] / us['wall']:.2f}x its speed")


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
        steps = [prompt(rng)] if exchange % 12 == 0 else []
        steps += answer(rng, exchange)
        if exchange % 300 == 299:
            steps += compaction(rng)
        for record in steps:
            record |= envelope(rng, parent, exchange)
            parent = record["uuid"]
            yield record


def envelope(rng: random.Random, parent: str | None, exchange: int) -> dict[str, Any]:
    return {
        "uuid": str(uuid.UUID(int=rng.getrandbits(128))),
        "parentUuid": parent,
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "timestamp": f"2026-01-{exchange // 8640 % 28 + 1:02}T{exchange // 360 % 24:02}:00:00.000Z",
        "version": "2.1.62",
        "cwd": "/home/dev/project",
        "gitBranch": "main",
        "isSidechain": False,
        "userType": "external",
    }


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
    patch = {"oldStart": 1, "oldLines": 8, "newStart": 1, "newLines": 10}
    patch |= {"lines": [f"+{line}" for line in code(rng, 18).split("\n")]}
    beside = {
        "filePath": "/home/dev/project/src/reader.py",
        "originalFile": code(rng, 110),
        "structuredPatch": [patch],
        "userModified": False,
    }
    return [result(call, numbered(code(rng, 25)), beside)]


def ran(rng: random.Random, call: str) -> list[dict[str, Any]]:
    """The result of a command, with the progress records before it."""
    output = code(rng, 70)
    data = {"type": "bash_progress", "output": output[-400:], "fullOutput": output}
    progress = {"type": "progress", "toolUseID": call, "data": data}
    beside = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return [progress, dict(progress), dict(progress), result(call, output, beside)]


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


if __name__ == "__main__":
    main()
