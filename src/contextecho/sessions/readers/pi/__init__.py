"""Reads the sessions of pi, the coding agent (`~/.pi/agent/sessions`), versions 1 to 3.

The one thing to know: entries of version 2 and later form a tree, and the conversation
is the branch that ends where the client stands. The other branches' turns stay in
the file's order, and are `abandoned`. Version 1 is one line of entries, and a compaction
in it names what it kept by the number of an entry, with the header as number 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from contextecho.sessions.building.conversation import Conversation
from contextecho.sessions.building.fields import instant
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import PlacedSource, placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session, Turn
from contextecho.sessions.readers.pi.assembly import Assembly
from contextecho.sessions.readers.pi.entries import pieces_of
from contextecho.sessions.readers.pi.tree import Tree
from contextecho.untrusted import make_visible

NAME: Final = "pi"
_KEYS: Final = ("type",)


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is the header of a pi session."""
    return any(_is_header(decode_json(line)) for line in head.split(b"\n", 8)[:8] if line.strip())


def read(path: Path) -> Session:
    """Index the session. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        tree = Tree()
        for found in placed_lines(file, stamp.size, Tally(), _is_entry, _KEYS):
            tree.add(found.value)
        file.seek(0)
        conversation = Conversation()
        source = PlacedSource(path, stamp, pieces_of)
        assembly = Assembly(conversation, tree)
        for found in placed_lines(file, stamp.size, conversation.tally, _is_entry, _KEYS):
            source.place(found)
            assembly.add(found)
    facts = _facts(assembly.header)
    return conversation.session(
        path,
        format=NAME,
        bytes=stamp.size,
        source=source,
        inherited=_copied(assembly.header, conversation.turns) if "forked_from" in facts else 0,
        **facts,
    )


def _copied(header: dict[str, Any], turns: Sequence[Turn]) -> int:
    """How many of a fork's first turns are copies: the client wrote its header after those."""
    began = instant(header.get("timestamp"))
    if began is None:
        return 0
    return sum(1 for _ in takewhile(lambda t: t.time is not None and t.time < began, turns))


def _facts(header: dict[str, Any]) -> dict[str, str]:
    """What the header says of the session."""
    names = {
        "id": "id",
        "cwd": "cwd",
        "branchedFrom": "forked_from",
        "parentSession": "forked_from",
    }
    found = {field: header.get(key) for key, field in names.items() if header.get(key)}
    return {field: make_visible(value) for field, value in found.items() if isinstance(value, str)}


def _is_header(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "session"
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and ("cwd" in value or "version" in value)
    )


def _is_entry(value: Any) -> bool:
    """Whether this is a record of its own, and no piece of one."""
    return isinstance(value, dict) and "type" in value and "timestamp" in value
