"""Small logs of Inspect, written without the library: field by field as it writes them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backports import zstd

STORED, DEFLATED, ZSTD = 0, 8, 93

Entry = tuple[int, bytes]
"""Method and content of a zip entry."""


def eval_spec(**fields: Any) -> dict[str, Any]:
    spec = {
        "eval_id": "e1",
        "run_id": "r1",
        "created": "2026-01-01T00:00:00+00:00",
        "task": "tides",
        "task_id": "t1",
        "dataset": {"samples": 1},
        "model": "lab/model-1",
        "packages": {"inspect_ai": "0.3.200"},
    }
    return spec | fields


def header(**fields: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": eval_spec(), "plan": {}} | fields


def user(content: Any, id: str = "u1", source: str | None = "input", **more: Any) -> dict[str, Any]:
    said = {"id": id, "role": "user", "content": content}
    return said | ({"source": source} if source else {}) | more


def assistant(content: Any, id: str = "a1", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"id": id, "role": "assistant", "content": content, "source": "generate"}
    return said | ({"tool_calls": list(calls)} if calls else {}) | more


def call(id: str = "c1", function: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"id": id, "function": function, "arguments": arguments, "type": "function"}


def result(content: Any, id: str = "c1", **more: Any) -> dict[str, Any]:
    said = {"id": f"r-{id}", "role": "tool", "content": content, "tool_call_id": id}
    return said | {"function": "bash"} | more


def model_event(answer: str, time: str, shown: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    message = {"id": answer, "role": "assistant", "content": ""}
    return {
        "event": "model",
        "timestamp": time,
        "input": [{"id": id, "role": "user", "content": ""} for id in shown],
        "output": {"choices": [{"message": message, "stop_reason": "stop"}]},
    } | more


def sample(*messages: dict[str, Any], id: str | int = "s1", epoch: int = 1, **more: Any) -> Any:
    return {
        "id": id,
        "epoch": epoch,
        "input": "Find the tide.",
        "target": "",
        "messages": list(messages),
        "events": [],
        "attachments": {},
        "uuid": f"uuid-{id}-{epoch}",
    } | more


def write_document(path: Path, *samples: Any, **fields: Any) -> Path:
    """The older shape: one JSON document, indented."""
    path.write_text(json.dumps(header(**fields) | {"samples": samples}, indent=2))
    return path


def write_eval(path: Path, *samples: Any, method: int = ZSTD, **fields: Any) -> Path:
    """The zip file, entries in the order in which the library writes them."""
    entries = {"_journal/start.json": header()}
    entries |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in samples}
    entries |= {"summaries.json": [], "header.json": header(**fields)}
    packed = {name: (method, json.dumps(value).encode()) for name, value in entries.items()}
    path.write_bytes(zip_of(packed))
    return path


def zip_of(entries: Mapping[str, Entry], sizes: Mapping[str, int] | None = None) -> bytes:
    """A zip file; `sizes` are what its directory says an entry unpacks to."""
    data, directory = b"", b""
    for name, (method, content) in entries.items():
        said = (sizes or {}).get(name, len(content))
        packed = _pack(method, content)
        fields = struct.pack(
            "<HHHHHIII", 20, 0, method, 0, 33, zlib.crc32(content), len(packed), said
        )
        names = struct.pack("<HH", len(name), 0)
        directory += b"PK\x01\x02\x14\x00" + fields + names + bytes(10)
        directory += struct.pack("<I", len(data)) + name.encode()
        data += b"PK\x03\x04" + fields + names + name.encode() + packed
    count = struct.pack("<HHHH", 0, 0, len(entries), len(entries))
    return (
        data + directory + b"PK\x05\x06" + count + struct.pack("<IIH", len(directory), len(data), 0)
    )


def _pack(method: int, content: bytes) -> bytes:
    if method == DEFLATED:
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(content) + packer.flush()
    if method == ZSTD:  # two frames, as the library writes of what is large
        half = len(content) // 2
        return zstd.compress(content[:half]) + zstd.compress(content[half:])
    return content
