"""Reads the rollouts of Codex CLI and its editor extensions (JSON lines), 0.2x to 0.171.

The one thing to know: the file holds the API's items and the client's events side by side,
and both say everything; a forked session begins with a copy of another, or goes on from another's
file. What each module knows:

    records    the fields we look at           pieces       what a line says
    fragments  the client's words in a text    hearing      typed, or written by the client
    replay     the copy in a fork              compactions  tokens, and what stayed
    context    what holds beside the words     review       a review by another session
    rollouts   the files, by their names       chain        those that a session goes through
    assembly   all of it, in one pass
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from contextecho.errors import SessionError
from contextecho.sessions.building.conversation import Conversation, Piece
from contextecho.sessions.building.joined import JoinedSource
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import (
    Placed,
    PlacedSource,
    placed_lines,
)
from contextecho.sessions.model import Session, SessionFile
from contextecho.sessions.readers.codex.assembly import Assembly
from contextecho.sessions.readers.codex.chain import Part, chain_of
from contextecho.sessions.readers.codex.pieces import pieces_of
from contextecho.sessions.readers.codex.records import (
    FIRST_KEYS,
    decode_record,
    is_record,
    record_of,
)
from contextecho.untrusted import make_visible

NAME: Final = "codex"
_BUFFER: Final = 1 << 20
_MOST_LINES: Final = 64
_MARKS: Final = (b'"payload"', b'"record_type"', b'"instructions"')
_HEAD = re.compile(  # of a first line that is longer than what was read of it
    rb'\s*\{\s*"timestamp"\s*:\s*"[^"]*"\s*,(?:\s*"ordinal"\s*:\s*\d+\s*,)?'
    rb'\s*"type"\s*:\s*"session_meta"\s*,\s*"payload"\s*:\s*\{'
)


def sniff(head: bytes) -> bool:
    """Whether the first lines hold one of this format."""
    if _HEAD.match(head):
        return True
    lines = (line for line in head.split(b"\n", _MOST_LINES) if line.strip())
    return any(is_record(decode_json(line)) for line in lines if any(m in line for m in _MARKS))


def read(path: Path) -> Session:
    """Index the session. Raises `SessionError` if it holds no conversation of its own."""
    parts = chain_of(path)
    conversation = Conversation()
    assembly = Assembly(conversation, parts[-1].head)
    sources: list[PlacedSource] = []
    begins = [(1, 0)]  # lines and bytes, of the parts and of what would follow
    for placed in _lines(parts, assembly, sources, begins):
        sources[-1].place(placed)
        assembly.add(placed)
    assembly.finish()
    has_others = assembly.copied or assembly.inherited
    if has_others and assembly.inherited == len(conversation.turns):
        raise SessionError(
            "holds only another session's history",
            where=str(path),
            todo="give the file of the session that this is a fork of",
        )
    context = assembly.context
    facts: dict[str, Any] = {"id": make_visible(context.id)} if context.id else {}
    offsets = [offset for _, offset in begins]
    if len(parts) > 1 or parts[0].lack:
        facts["source"] = JoinedSource(sources, offsets, [part.copy for part in parts])
        facts["files"] = tuple(
            SessionFile(part.path, line) for part, (line, _) in zip(parts, begins, strict=False)
        )
    return conversation.session(
        path,
        format=NAME,
        bytes=offsets[-1],
        cwd=context.cwd,
        parent=context.parent,
        forked_from=context.forked_from and make_visible(context.forked_from),
        inherited=assembly.inherited,
        **{"source": sources[-1]} | facts,
    )


def _lines(
    parts: Sequence[Part],
    assembly: Assembly,
    sources: list[PlacedSource],
    begins: list[tuple[int, int]],
) -> Iterator[Placed]:
    """The lines of one file after the other; where each lies is added to `sources`, `begins`."""
    for part in parts:
        with part.plain.open("rb", buffering=_BUFFER) as file:
            sources.append(PlacedSource(part.plain, part.stamp, _pieces, begins[-1][1]))
            assembly.begin(part, *begins[-1])
            ends = yield from placed_lines(
                file, part.end, assembly.tally, is_record, FIRST_KEYS, decode_record, begins[-1]
            )
            begins.append(ends)


def _pieces(value: Any) -> list[Piece]:
    return pieces_of(record_of(value))
