"""Sub-agents' conversations: in the file, beside it, or below a folder of its name.

The one thing to know: old clients wrote them into the session's own file, later ones into
`agent-*.jsonl` beside it, newer ones into `<session>/subagents/`, and some also told the main
file of each message (`agent_progress`). One sub-agent is one `Sidechain`, wherever it was met;
its own file wins. All are kept apart from the main thread; here they are only counted, and
linked to the call that started them.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from contextecho.sessions.model import Sidechain
from contextecho.sessions.readers.claude_code.asides import Aside, Started, asked
from contextecho.sessions.readers.claude_code.entries import Entry
from contextecho.sessions.readers.claude_code.records import (
    METADATA,
    Record,
    decode_record,
    text_in,
)

_SETTLED_NS = 2_000_000_000  # after which a folder's time tells any change: clocks tick
# "aside_question-c5e5c961a7749e08": the client's own helpers bear their kind in their id.
_CLIENTS_OWN = re.compile(r"a([a-z_]+)-[0-9a-f]+")


class Sidechains:
    """The sub-agents of a session, from all the places that tell of them."""

    def __init__(self) -> None:
        self._root_of: dict[str, str] = {}  # uuid -> chain, for clients without agent ids
        self._met: dict[str, _Met] = {}
        self._started: dict[str, Started] = {}  # by the call's id
        self._call_of: dict[str, str] = {}  # sub-agent -> call

    def add(self, entry: Entry) -> None:
        """Count one record of a sub-agent; a chain without an id bears its root's uuid."""
        chain = entry.agent_id or self._root_of.get(entry.parent_uuid or "")
        if chain is None:
            chain = entry.uuid or "sidechain"
        if entry.uuid is not None and entry.agent_id is None:
            self._root_of[entry.uuid] = chain
        self._count(chain, entry, entry.uuid)

    def progressed(self, entry: Entry, aside: Aside) -> None:
        """Count one message of a sub-agent that the main file was told of."""
        if entry.agent_id:
            self._count(entry.agent_id, entry, aside.message)

    def linked(self, aside: Aside) -> None:
        """Take in which calls start sub-agents, and which result is whose."""
        for started in aside.starts:
            if started.call_id:
                self._started[started.call_id] = started
        for call_id, agent in aside.reports:
            if call_id in self._started:
                self._call_of.setdefault(agent, call_id)

    def found(self, path: Path, session_id: str) -> tuple[Sidechain, ...]:
        """All sub-agents: those in the file at `path`, then those whose files lie around it."""
        met = {chain: (path, found) for chain, found in self._met.items()}
        for chain, place, found in _around(path, session_id):
            if chain in self._met:
                found.call_id = found.call_id or self._met[chain].call_id
            met[chain] = place, found
        calls = {
            chain: found.call_id or self._call_of.get(chain) for chain, (_, found) in met.items()
        }
        asking = self._asking(set(calls.values()))
        for chain, (_, found) in met.items():
            if calls[chain] is None and asking[found.prompt]:
                calls[chain] = asking[found.prompt].popleft()
        return tuple(
            self._sidechain(chain, place, found, calls[chain])
            for chain, (place, found) in met.items()
        )

    @property
    def inside(self) -> int:
        """How many were met in the file itself."""
        return len(self._met)

    def _count(self, chain: str, entry: Entry, uuid: str | None) -> None:
        met = self._met.setdefault(chain, _Met())
        met.count(uuid, entry.model)
        if entry.aside is not None:
            met.call_id = met.call_id or entry.aside.call_id
            met.prompt = met.prompt or entry.aside.prompt

    def _sidechain(self, chain: str, path: Path, met: _Met, call_id: str | None) -> Sidechain:
        started = self._started.get(call_id or "")
        own = _CLIENTS_OWN.fullmatch(chain)
        return Sidechain(
            agent_id=chain,
            path=path,
            records=met.records,
            models=tuple(met.models),
            call_id=call_id,
            kind=met.kind or (started.kind if started else None) or (own[1] if own else None),
        )

    def _asking(self, taken: Set[str | None]) -> defaultdict[int, deque[str]]:
        """The calls that no sub-agent is linked to yet, by what they ask, in the file's order."""
        asking = defaultdict[int, deque[str]](deque)
        for call_id, started in self._started.items():
            if started.prompt and call_id not in taken:
                asking[started.prompt].append(call_id)
        return asking


class _Met:
    """What is known of one sub-agent."""

    def __init__(self) -> None:
        self.records = 0
        self.models: dict[str, None] = {}
        self.kind: str | None = None
        self.call_id: str | None = None
        self.prompt = 0
        self._uuids: set[str] = set()

    def count(self, uuid: str | None, model: str | None) -> None:
        """One more record; one that was counted before is the same again."""
        if uuid is not None:
            if uuid in self._uuids:
                return
            self._uuids.add(uuid)
        self.records += 1
        if model:
            self.models[model] = None


class _Message(Struct):
    model: str | None = None


class _Line(Struct, rename="camel"):
    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    attribution_agent: str | None = None
    message: _Message | None = None


class _Meta(Struct, rename="camel"):
    """What the client notes beside a sub-agent's file."""

    agent_type: str | None = None
    tool_use_id: str | None = None


_decode = msgspec.json.Decoder(_Line).decode
_decode_meta = msgspec.json.Decoder(_Meta).decode


def _around(path: Path, session_id: str) -> Iterator[tuple[str, Path, _Met]]:
    """(name, file, what is known) of each sub-agent with a file beside `path` or below it.

    Asked for every session of a list, of which few have any: so names come before paths.
    """
    names = {session_id, path.stem}
    folder, own = os.path.split(path)
    for name in sorted(_agents_in(folder)):
        beside = path.parent / name
        if name != own and (found := _read(beside, names)):
            yield *found[:1], beside, found[1]
    for name in sorted(names):
        if os.path.basename(name) != name or name in (".", ".."):  # noqa: PTH119
            continue  # an id from the file leads nowhere else
        below = os.path.join(folder, name, "subagents")  # noqa: PTH118
        inside_it = Path(below).glob("**/agent-*.jsonl") if os.path.isdir(below) else ()  # noqa: PTH112
        for inside in sorted(inside_it):
            if found := _read(inside, None):
                yield *found[:1], inside, found[1]


def _agents_in(folder: str) -> Iterable[str]:
    """The names of sub-agents' files; a folder that stays as it is is listed once for all in it."""
    try:
        changed_ns = os.stat(folder or ".").st_mtime_ns  # noqa: PTH116
    except OSError:
        return ()
    settled = time.time_ns() - changed_ns > _SETTLED_NS
    return _listed(folder, changed_ns) if settled else _listed.__wrapped__(folder, changed_ns)


@lru_cache(maxsize=1)
def _listed(folder: str, _changed_ns: int) -> tuple[str, ...]:
    """Listing is far faster than matching names for each session."""
    with suppress(OSError):
        names = os.listdir(folder or ".")  # noqa: PTH208
        return tuple(n for n in names if n.startswith("agent-") and n.endswith(".jsonl"))
    return ()


def _read(path: Path, sessions: set[str] | None) -> tuple[str, _Met] | None:
    """The sub-agent in this file, if it belongs to one of the sessions; bad lines count."""
    met, agent_id = _Met(), ""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            for data in file:
                line = _line(data)
                if line.type in METADATA:
                    continue
                if met.records == 0:
                    if sessions is not None and line.session_id not in sessions:
                        return None
                    met.prompt = _first_prompt(data)
                agent_id = agent_id or line.agent_id or ""
                met.kind = met.kind or line.attribution_agent
                met.count(line.uuid, line.message.model if line.message else None)
    except OSError:
        return None
    if not met.records:
        return None
    meta = _meta(path.with_suffix(".meta.json"))
    met.kind, met.call_id = meta.agent_type or met.kind, meta.tool_use_id
    return agent_id or path.stem.removeprefix("agent-"), met


def _first_prompt(data: bytes) -> int:
    """Stands for what the sub-agent was asked, in the first record of its file."""
    record = decode_record(data)
    return asked(text_in(record.message)) if isinstance(record, Record) else 0


def _line(data: bytes) -> _Line:
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _Line()


def _meta(path: Path) -> _Meta:
    try:
        return _decode_meta(path.read_bytes()) if path.is_file() else _Meta()
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return _Meta()
