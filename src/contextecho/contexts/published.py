"""The first paper's prefix: the tail of a transcript, quoted (reference.md, section 1.0).

The one thing to know: this re-creates a behaviour, flaws included, so that old
numbers can be compared. The summary stands first and is trimmed off first, tool
results stand under the USER header, nothing marks the cut. Rows are walked
backwards from the end, so only the part of the file that is shown is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import Any

import msgspec

from contextecho.sessions import Content, Kind, Session, Turn

PREFIX_CHARS = 30_000
_TOOL_CHARS = 200
_CHUNK = 64  # lines read at a time on the way back
_SUMMARY_WITHIN = 4  # rows after the boundary among which the summary is looked for
_SUMMARY_HEADER = "--- COMPACTION SUMMARY (resumed session) ---"
_HEADERS = {"user": "--- USER ---", "assistant": "--- ASSISTANT ---"}

_BLANK = "\n\n"  # between rows

Row = Mapping[str, Any]
_Part = tuple[int, str]  # line, rendered row


class PublishedPrefix(msgspec.Struct, frozen=True, kw_only=True):
    """The prefix's text, and what of the session stands in it."""

    text: str
    first_line: int  # of the first row with any text in view
    summary_kept: bool  # the whole summary is in view


def published_text(session: Session, row_turn: int) -> str:
    """The prefix at `row_turn`: the last 30,000 characters; see `published_prefix`."""
    return published_prefix(session, row_turn).text


def published_prefix(
    session: Session, row_turn: int, *, chars: int = PREFIX_CHARS
) -> PublishedPrefix:
    """The prefix at `row_turn`, at most `chars` characters of its tail.

    A row turn past the end is moved to the last one without a word, as the
    reference does; 0 gives the empty prefix. Sessions of other formats than
    Claude Code's are rendered message by message under the same headers.
    """
    end = min(row_turn, session.row_turns)
    if end < 1:
        parts: list[_Part] = []
    elif session.format == "claude-code":
        parts = _backwards(session, session.row_turn_lines[end - 1], chars)
    else:
        parts = _messages(session, end)
    text = _BLANK.join(part for _, part in parts)[-chars:]
    return PublishedPrefix(
        text=text,
        first_line=_first_line_shown(parts, len(text)),
        summary_kept=text.startswith(_SUMMARY_HEADER),
    )


def _first_line_shown(parts: list[_Part], shown: int) -> int:
    for line, part in reversed(parts):
        shown -= len(part) + len(_BLANK)
        if shown <= 0:
            return line
    return parts[0][0] if parts else 0


def _backwards(session: Session, last_line: int, chars: int) -> list[_Part]:
    """Rendered rows in file order: back to the compaction, or until `chars` are covered."""
    after: list[tuple[int, Row]] = []  # rows behind the current one, newest first
    parts: list[_Part] = []  # their renderings, newest first
    covered = 0
    for line, row in _rows_backwards(session, last_line):
        if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
            return _from_boundary(after[::-1])
        if covered >= chars + len(_BLANK):
            break
        after.append((line, row))
        part = _render_row(row)
        if part:
            parts.append((line, part))
            covered += len(part) + len(_BLANK)
    return parts[::-1]


def _rows_backwards(session: Session, last_line: int) -> Iterator[tuple[int, Row]]:
    while last_line > 0:
        first_line = max(1, last_line - _CHUNK + 1)
        yield from reversed(list(session.source.records(first_line, last_line)))
        last_line = first_line - 1


def _from_boundary(rows: list[tuple[int, Row]]) -> list[_Part]:
    """The rows after a boundary: the summary under its header, then all but the first row.

    The reference takes the row behind the boundary for the summary; where
    another row comes between them the summary stands twice, and where the
    summary is a list it is lost. Both are kept here.
    """
    summaries = (
        (line, f"{_SUMMARY_HEADER}\n{row['message']['content']}")
        for line, row in rows[:_SUMMARY_WITHIN]
        if row.get("type") == "user"
        and isinstance(row.get("message"), dict)
        and isinstance(row["message"].get("content"), str)
        and "summary" in row["message"]["content"].lower()
    )
    rendered = ((line, _render_row(row)) for line, row in rows[1:])
    return [*islice(summaries, 1), *((line, part) for line, part in rendered if part)]


def _render_row(row: Row) -> str:
    """A user or assistant row under its header; "" for other rows and for rows left empty."""
    header = _HEADERS.get(str(row.get("type")))
    message = row.get("message")
    if header is None or not isinstance(message, dict):
        return ""
    content = message.get("content")
    body = content if isinstance(content, str) else _join_blocks(content)
    return f"{header}\n{body}" if body else ""


def _join_blocks(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(filter(None, (_block(b) for b in blocks if isinstance(b, dict))))


def _block(block: Row) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text") or "")
        case "tool_use":
            return _call(str(block.get("name")), block.get("input"))
        case "tool_result":
            return _result(_flat(block.get("content")))
        case _:
            return ""


def _flat(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _call(name: str, arguments: Any) -> str:
    return f"[tool_use {name}: {json.dumps(arguments)[:_TOOL_CHARS]}]"


def _result(text: str) -> str:
    return f"[tool_result: {text[:_TOOL_CHARS]}]"


def _messages(session: Session, row_turn: int) -> list[_Part]:
    """The prefix of a format without Claude Code's rows, from its turns."""
    turns = tuple(
        turn
        for turn in session.turns
        if turn.row_turn <= row_turn and turn.kind is not Kind.THINKING
    )
    pieces = zip(turns, session.contents(turns), strict=True)
    return [
        (line, f"{_HEADERS[role]}\n{body}")
        for (line, role), group in groupby(
            pieces, key=lambda piece: (piece[0].line, _role(piece[0]))
        )
        if (body := "\n".join(filter(None, (_turn_text(*piece) for piece in group))))
    ]


def _role(turn: Turn) -> str:
    return "assistant" if turn.kind in (Kind.ASSISTANT, Kind.TOOL_CALL) else "user"


def _turn_text(turn: Turn, content: Content) -> str:
    if turn.kind is Kind.TOOL_CALL:
        return _call(turn.tool or "", content.arguments)
    return _result(content.text) if turn.kind is Kind.TOOL_RESULT else content.text
