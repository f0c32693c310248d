"""Building the index of a session, message by message.

The one thing to know: a reader says what each message of its file holds (`Piece`) and
where it lies (`Span`); counting, joining, linking results to calls, and telling final
answers from commentary happen here, once for every format but Claude Code's, whose
file has rules of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import (
    ANSWER,
    CALL,
    CUT,
    HUMAN,
    MODEL,
    RESULT,
    SUMMARY,
    Compaction,
    CompactionKind,
    Kind,
    Session,
    Source,
    Span,
    Speaker,
    Turn,
)
from contextecho.untrusted import make_visible

MOST_KEPT: Final = 1 << 20
"""Turns that the compactions of one session keep, counted for each compaction."""


class Piece(Struct, gc=False):
    """One piece of a message: what will be one turn."""

    kind: Kind
    speaker: Speaker
    text: str = ""  # of a tool call: its arguments, as JSON
    tool: str | None = None
    call_id: str | None = None
    images: int = 0  # pictures and documents left out of `text`
    is_error: bool = False
    quoted: bool = False
    final: bool | None = None  # as the file declares it; None where it does not


class Message(Struct, gc=False, kw_only=True):
    """One message as a file holds it.

    A piece is found again by its number, so one that is no turn here is `None` in
    `pieces` rather than missing. Messages of the model with the same `id` are one.
    """

    line: int
    span: Span
    pieces: Sequence[Piece | None]
    first: int = 0  # number of the first piece, where the span holds other messages before it
    id: str | None = None
    model: str | None = None
    version: str | None = None
    time: float | None = None  # seconds since 1970, UTC
    mode: str | None = None
    personality: str | None = None
    abandoned: bool = False
    broken_off: bool = False
    steering: bool = False


class Conversation:
    """Places and counts turns, in the order in which they are said."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.system: list[str] = []
        self.turns: list[Turn] = []
        self._compactions: list[Compaction] = []
        self._row_turn_lines = array("I")
        self._names: dict[str, str] = {}  # each once: turns share the strings
        self._models: dict[str, None] = {}
        self._versions: dict[str, None] = {}
        self._tool_of: dict[str, str | None] = {}
        self._ordinal_of: dict[str, int] = {}
        self._calls_tool = bytearray()  # by ordinal of the message
        self._undeclared: set[int] = set()  # turns of which the file does not say if they are final
        self._step = self._prompt = self._segment = 0
        self._may_keep = MOST_KEPT

    def say(self, message: Message) -> None:
        """Take in one message; one without pieces is nothing said."""
        is_empty, by_model, by_human, answers = True, False, False, False
        for piece in message.pieces:
            if piece is not None:
                is_empty = False
                by_model |= piece.speaker is MODEL
                by_human |= piece.speaker is HUMAN
                answers |= piece.kind is RESULT
        if is_empty:
            return
        message.steering |= answers  # what is said beside a result comes before the turn has ended
        if by_model or not answers:
            self._row_turn_lines.append(message.line)
        ordinal, is_new = self._join(message.id if by_model else None)
        self._prompt += by_human
        if by_model:
            self._step += is_new
            if message.model:
                self._models[message.model] = None
        if message.version:
            self._versions[message.version] = None
        for number, piece in enumerate(message.pieces, message.first):
            if piece is not None:
                self._append(message, piece, number, ordinal)

    def compact(self, line: int, **facts: Any) -> None:
        """The client compacted the context here; `facts` are fields of `Compaction`.

        A summary said next becomes the compaction's.
        """
        here = Compaction(
            line=line,
            row_turn=len(self._row_turn_lines),
            step=self._step,
            prompt=self._prompt,
            **facts,
        )
        self._compactions.append(here)
        self._segment += here.kind is not CompactionKind.MICRO

    def keep(self, turns: Iterable[int]) -> None:
        """Say which turns stayed verbatim after the last compaction.

        A file in which every compaction keeps all that was said is no client's; its memory
        would grow with the square of its size, so that only its first compactions keep any.
        """
        kept = tuple(islice(turns, self._may_keep + 1))
        if len(kept) > self._may_keep:
            self.tally.add("kept turns, too many to hold", self._compactions[-1].line)
            self._may_keep, kept = 0, ()
        self._may_keep -= len(kept)
        self._compactions[-1] = replace(self._compactions[-1], kept=kept)

    def note(self, **facts: Any) -> None:
        """Say more of the last compaction; `facts` are fields of `Compaction`."""
        self._compactions[-1] = replace(self._compactions[-1], **facts)

    def abandon(self, turns: Iterable[int]) -> None:
        """Say which turns a rewind left behind, where only what came later tells."""
        for index in turns:
            self.turns[index] = replace(self.turns[index], abandoned=True)

    def session(
        self, path: Path, *, format: str, bytes: int, source: Source, **facts: Any
    ) -> Session:
        """The indexed session; `facts` are further fields of `Session`.

        Raises `SessionError` when no message is a model's.
        """
        if not self._step:
            cut = " before the place where it was cut" if CUT in self.tally else ""
            what = f"holds no conversation: no message of a model{cut}"
            raise SessionError(what, where=str(path))
        return Session(
            path=path,
            format=format,
            bytes=bytes,
            turns=tuple(self._finished()),
            compactions=tuple(self._compactions),
            row_turn_lines=self._row_turn_lines,
            skipped=self.tally.skipped(),
            models=tuple(self._models),
            versions=tuple(self._versions),
            source=source,
            system="\n\n".join(self.system) or None,
            **{"id": make_visible(path.stem), "sidechains": ()} | facts,
        )

    def _finished(self) -> Iterator[Turn]:
        """The turns, with what only the end of their message can tell."""
        for number, turn in enumerate(self.turns):
            if number in self._undeclared and not (
                turn.broken_off or self._calls_tool[turn.message]
            ):
                yield replace(turn, final=True)
            else:
                yield turn

    def _append(self, message: Message, piece: Piece, number: int, ordinal: int) -> None:
        kind, tool, call_id = piece.kind, piece.tool, piece.call_id
        if kind is CALL:
            self._calls_tool[ordinal] = 1
            if call_id is not None:
                self._tool_of[call_id] = tool
        elif kind is RESULT and tool is None:
            tool = self._tool_of.get(call_id or "")
        elif kind is SUMMARY and self._compactions and not message.abandoned:
            last = self._compactions[-1]
            if last.summary is None:
                self._compactions[-1] = replace(last, summary=len(self.turns))
        elif kind is ANSWER and piece.final is None:
            self._undeclared.add(len(self.turns))
        shared = self._names.setdefault
        model = message.model if piece.speaker is MODEL else None
        version, mode, personality = message.version, message.mode, message.personality
        self.turns.append(
            # Positions first: with more than 15 keywords Python builds a dict for the call.
            Turn(
                kind,
                piece.speaker,
                message.line,
                len(self._row_turn_lines),
                self._step,
                self._prompt,
                ordinal,
                self._segment,
                Span(message.span.offset, message.span.length, number),
                len(piece.text),
                model and shared(model, model),
                version and shared(version, version),
                message.time,
                tool and shared(tool, tool),
                call_id=call_id,
                is_error=piece.is_error,
                final=piece.final is True,
                abandoned=message.abandoned,
                quoted=piece.quoted,
                broken_off=message.broken_off,
                mode=mode and shared(mode, mode),
                personality=personality and shared(personality, personality),
                steering=message.steering and piece.speaker is HUMAN and not piece.quoted,
            )
        )

    def _join(self, id: str | None) -> tuple[int, bool]:
        """The ordinal of the message that this is a part of, and whether it is new."""
        if id is not None and id in self._ordinal_of:
            return self._ordinal_of[id], False
        ordinal = len(self._calls_tool)
        self._calls_tool.append(0)
        if id is not None:
            self._ordinal_of[id] = ordinal
        return ordinal, True
