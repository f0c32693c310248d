"""Sub-agents' conversations: inside the file, beside it, or below a folder of its name.

The one thing to know: old clients wrote them into the session's own file, later
ones into `agent-*.jsonl` beside it, newer ones into `<session>/subagents/`. All
are kept apart from the main thread; here they are only counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from contextecho.sessions.model import Sidechain
from contextecho.sessions.readers.claude_code.entries import Entry


class Inside:
    """Sub-agents' records met in the session's own file."""

    def __init__(self) -> None:
        self._chain_of: dict[str, str] = {}  # uuid -> chain, for clients without agent ids
        self._records: dict[str, int] = {}
        self._models: dict[str, dict[str, None]] = {}

    def add(self, entry: Entry) -> None:
        """Count one record for its sub-agent; a chain without an id bears its root's uuid."""
        chain = entry.agent_id or self._chain_of.get(entry.parent_uuid or "")
        if chain is None:
            chain = entry.uuid or "sidechain"
        if entry.uuid is not None and entry.agent_id is None:
            self._chain_of[entry.uuid] = chain
        self._records[chain] = self._records.get(chain, 0) + 1
        models = self._models.setdefault(chain, {})
        if entry.model:
            models[entry.model] = None

    def sidechains(self, path: Path) -> Iterator[Sidechain]:
        """The sub-agents met so far."""
        for chain, records in self._records.items():
            yield Sidechain(
                agent_id=chain, path=path, records=records, models=tuple(self._models[chain])
            )


class _Message(Struct):
    model: str | None = None


class _Line(Struct, rename="camel"):
    session_id: str | None = None
    agent_id: str | None = None
    message: _Message | None = None


_decode = msgspec.json.Decoder(_Line).decode


def sidechains_beside(path: Path, session_id: str) -> Iterator[Sidechain]:
    """Sub-agents whose files lie beside the session's file or below its folder."""
    folder, name = os.path.split(path)
    for found in [*_beside(folder, name), *_below(folder, session_id)]:
        sidechain = _read(found, session_id)
        if sidechain is not None:
            yield sidechain


def _beside(folder: str, name: str) -> list[Path]:
    """Listing is far faster than matching, and this is asked for every session."""
    with suppress(OSError):
        names = os.listdir(folder or ".")  # noqa: PTH208
        found = (n for n in names if n.startswith("agent-") and n.endswith(".jsonl") and n != name)
        return [Path(folder, each) for each in sorted(found)]
    return []


def _below(folder: str, session_id: str) -> list[Path]:
    below = os.path.join(folder, session_id, "subagents")  # noqa: PTH118
    if not os.path.isdir(below):  # noqa: PTH112
        return []
    return sorted(Path(below).glob("**/agent-*.jsonl"))


def _read(path: Path, session_id: str) -> Sidechain | None:
    """The sub-agent in this file, if it belongs to the session; unreadable lines count."""
    agent_id, records, models = "", 0, dict[str, None]()
    try:
        with path.open("rb") as file:
            for data in file:
                line = _line(data)
                if records == 0 and line.session_id != session_id:
                    return None
                records += 1
                agent_id = agent_id or line.agent_id or ""
                if line.message is not None and line.message.model:
                    models[line.message.model] = None
    except OSError:
        return None
    if not records:
        return None
    name = agent_id or path.stem.removeprefix("agent-")
    return Sidechain(agent_id=name, path=path, records=records, models=tuple(models))


def _line(data: bytes) -> _Line:
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Line()
