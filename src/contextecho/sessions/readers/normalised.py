"""Reads what `contextecho sessions convert` writes: normalised JSON lines.

The one thing to know: a turn is what its line says and nothing is worked out again, so
the session is the one that was converted; only `path`, `format`, `bytes` and the file's
hash are this file's. Lines refer to each other by `index`, which survives a lost line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.placed import Placed, PlacedSource, placed_lines
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.converting.normalised import (
    FORMAT,
    SHARED,
    Header,
    Line,
    arguments_as_text,
    facts_of,
)
from contextecho.sessions.model import Compaction, Session, Span, Turn
from contextecho.untrusted import make_visible

NAME: Final = "contextecho"
_HEAD: Final = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"contextecho\.session/\d')
_NEVER_BACKWARDS: Final = ("line", "row_turn", "step", "prompt", "segment")


def sniff(head: bytes) -> bool:
    """Whether the file begins with the header of this format."""
    return _HEAD.match(head) is not None


def read(path: Path) -> Session:
    """Index the file. Raises `SessionError` if its header is not one, or no model speaks."""
    tally = Tally()
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        source = PlacedSource(path, stamp, pieces_of)
        records = placed_lines(file, stamp.size, tally, _is_line, ("index",))
        header = _header(next(records, None), path)
        index_of: dict[int, int] = {}
        turns: list[Turn] = []
        for found in records:
            line = _line(found)
            wrong = _what_is_wrong(line, turns, index_of)
            if line is None or wrong:
                tally.add(wrong, found.line)
                continue
            index_of[line.index] = len(turns)
            turns.append(turn_of(line, found.span))
            source.place(Placed(line.line, found.span, None))
    if len(turns) < header.counts.turns:
        tally.add("fewer turns than the header counts", 1)
    if not turns or not turns[-1].step:
        raise SessionError("holds no conversation: no message of a model", where=str(path))
    facts = facts_of(header) | {
        "compactions": tuple(referring(each, index_of) for each in header.compactions),
        "inherited": inherited_of(header, index_of),
        "skipped": (*header.skipped, *tally.skipped()),  # the session's own, then this file's
    }
    return Session(
        id=header.id,
        path=path,
        format=NAME,
        bytes=stamp.size,
        turns=tuple(turns),
        source=source,
        **facts,
    )


def _header(found: Placed | None, path: Path) -> Header:
    value = found.value if found is not None else {}
    if value.get("format") != FORMAT:
        raise SessionError(
            "its first line is no header of this version's schema",
            where=str(path),
            todo=f"it has to begin with the format {FORMAT}",
        )
    try:
        return msgspec.convert(value, Header, dec_hook=path_of)
    except (msgspec.ValidationError, ValueError) as error:
        raise SessionError(
            make_visible(f"its header is not valid: {error}"), where=str(path)
        ) from None


def path_of(type: type, value: Any) -> Any:
    """A path in a header; all else that msgspec asks for is not known."""
    if type is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError


def _is_line(value: Any) -> bool:
    return isinstance(value, dict) and "kind" in value and "speaker" in value


def _line(found: Placed) -> Line | None:
    try:
        return msgspec.convert(found.value, Line)
    except (msgspec.ValidationError, ValueError):
        return None


def _what_is_wrong(line: Line | None, turns: Sequence[Turn], index_of: dict[int, int]) -> str:
    """Why a line cannot be a turn here; nothing if it can."""
    if line is None or (line.text is None and line.arguments is None):
        return "not a turn"
    if line.index in index_of:
        return "turn that is there already"
    if turns and any(getattr(line, n) < getattr(turns[-1], n) for n in _NEVER_BACKWARDS):
        return "turn out of order"
    return ""


def turn_of(line: Line, span: Span) -> Turn:
    """The turn of a line, whose content lies at `span`."""
    length = len(_text(line.text, line.arguments))
    shared = {name: getattr(line, name) for name in SHARED}
    return Turn(**shared | {"span": span, "chars": max(line.chars or 0, length)})


def pieces_of(value: dict[str, Any]) -> list[Piece]:
    """What a line holds: one piece."""
    line = msgspec.convert(value, Line)
    text = _text(line.text, line.arguments)
    return [Piece(line.kind, line.speaker, text, images=line.images)]


def _text(text: str | None, arguments: dict[str, Any] | None) -> str:
    return arguments_as_text(arguments or {}) if text is None else text


def inherited_of(header: Header, index_of: Mapping[int, int]) -> int:
    """How many of the turns that are there are inherited."""
    return len({place for index, place in index_of.items() if index < header.inherited})


def referring(compaction: Compaction, index_of: Mapping[int, int]) -> Compaction:
    """The compaction, with references to the turns that are there, by their new indices."""
    return replace(
        compaction,
        summary=None if compaction.summary is None else index_of.get(compaction.summary),
        kept=tuple(sorted({index_of[index] for index in compaction.kept if index in index_of})),
    )
