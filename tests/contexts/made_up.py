"""Sessions written out in a test: one row a turn, held in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from contextecho.sessions import Compaction, Content, Kind, Session, Span, Speaker, Turn


class Row(msgspec.Struct, kw_only=True):
    kind: Kind
    text: str = ""
    speaker: Speaker | None = None
    message: int | None = None
    call: str | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    error: bool = False
    abandoned: bool = False


def user(text: str, **more: Any) -> Row:
    return Row(kind=Kind.USER, text=text, speaker=more.pop("speaker", Speaker.HUMAN), **more)


def said(text: str, **more: Any) -> Row:
    return Row(kind=Kind.ASSISTANT, text=text, **more)


def thought(text: str, **more: Any) -> Row:
    return Row(kind=Kind.THINKING, text=text, **more)


def called(call: str, tool: str = "Bash", message: int | None = None, **arguments: Any) -> Row:
    return Row(kind=Kind.TOOL_CALL, call=call, tool=tool, message=message, arguments=arguments)


def result(call: str, text: str, **more: Any) -> Row:
    return Row(kind=Kind.TOOL_RESULT, call=call, text=text, **more)


def summary(text: str) -> Row:
    return Row(kind=Kind.SUMMARY, text=text, speaker=Speaker.SUMMARISER)


class Memory:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.lines_read: list[int] = []

    @property
    def sha256(self) -> str:
        return "0" * 64

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        for turn in turns:
            self.lines_read.append(turn.line)
            row = self.rows[turn.line - 1]
            yield Content(text=row.text, arguments=row.arguments)

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        raise AssertionError("only Claude Code sessions have raw rows")


def session(*rows: Row) -> Session:
    """A session of these rows, one line each; a summary row is a compaction."""
    turns: list[Turn] = []
    compactions: list[Compaction] = []
    row_lines: list[int] = []
    step = prompt = 0
    messages: set[int] = set()
    for line, row in enumerate(rows, start=1):
        spoken = row.kind in (Kind.ASSISTANT, Kind.THINKING, Kind.TOOL_CALL)
        message = row.message if row.message is not None else 1000 + line
        if spoken and message not in messages:
            step += 1
            messages.add(message)
        prompt += row.kind is Kind.USER and row.speaker is Speaker.HUMAN
        if row.kind is Kind.SUMMARY:
            compactions.append(
                Compaction(
                    line=line, row_turn=len(row_lines), step=step, prompt=prompt, summary=line - 1
                )
            )
        if row.kind is not Kind.TOOL_RESULT:
            row_lines.append(line)
        turns.append(
            Turn(
                kind=row.kind,
                speaker=row.speaker or (Speaker.MODEL if spoken else Speaker.TOOL),
                line=line,
                row_turn=len(row_lines),
                step=step,
                prompt=prompt,
                message=message,
                segment=len(compactions),
                span=Span(0, 0),
                chars=len(row.text) or len(str(row.arguments)),
                tool=row.tool,
                call_id=row.call,
                is_error=row.error,
                abandoned=row.abandoned,
            )
        )
    return Session(
        id="made-up",
        path=Path("made-up.json"),
        format="chat",
        bytes=0,
        turns=tuple(turns),
        compactions=tuple(compactions),
        row_turn_lines=row_lines,
        skipped=(),
        sidechains=(),
        models=(),
        versions=(),
        source=Memory(rows),
    )
