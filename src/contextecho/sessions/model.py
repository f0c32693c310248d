"""A session: a conversation that really happened, indexed but not loaded.

The one thing to know: a `Session` holds *where* everything is and what kind of
thing it is, never the text. Text is read from the file when asked for
(`Session.contents`), so a 300 MB session costs a few megabytes of memory.

Three indices count "how far in" a turn is, and are never called just "turn":

    row_turn   JSONL rows as the first paper counts them: one per assistant row
               of any content, one per user row with text and no tool result
    step       agent steps: assistant messages, joined over their rows
    prompt     messages that a human wrote
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from contextecho.sessions.naming import name_of


class Kind(StrEnum):
    """What a turn is, in the roles of the conversation itself."""

    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"


class Speaker(StrEnum):
    """Who really produced the words, whatever role the file gives them."""

    HUMAN = "human"
    MODEL = "model"
    TOOL = "tool"
    HARNESS = "harness"  # the client: reminders, command output, notifications, caveats
    SUMMARISER = "summariser"  # a model call that wrote a compaction summary


class PromptKind(StrEnum):
    """How a human came to write a prompt."""

    TYPED = "typed"  # freely
    STEERING = "steering"  # given to the model before its turn had ended, where the file tells
    ANSWER = "answer"  # to a question that the model asked with a tool
    FEEDBACK = "feedback"  # with the refusal of a tool call


# Looked up once: a member costs more to find in its enum class than a turn does to make.
USER: Final = Kind.USER
ANSWER: Final = Kind.ASSISTANT
CUT: Final = "cut document"  # why there may be less than the client wrote
THOUGHT: Final = Kind.THINKING
CALL: Final = Kind.TOOL_CALL
RESULT: Final = Kind.TOOL_RESULT
SUMMARY: Final = Kind.SUMMARY
HUMAN: Final = Speaker.HUMAN
MODEL: Final = Speaker.MODEL
TOOL: Final = Speaker.TOOL
HARNESS: Final = Speaker.HARNESS


class CompactionKind(StrEnum):
    """What the client did to the context."""

    FULL = "compaction"  # the conversation was replaced by a summary
    MICRO = "microcompaction"  # tool results were cleared, the conversation is unbroken
    CONTINUATION = "continuation"  # the file begins with the summary of one that it does not hold


class Span(msgspec.Struct, frozen=True, gc=False):
    """Where the content of a turn lies: the record's bytes, then the part in it."""

    offset: int
    length: int
    part: int = 0


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One piece of one message: a text, a thought, a tool call, a tool result, a summary.

    Turns of one assistant message share `message`; `chars` is the length of the
    text in characters, except in Claude Code's files for a tool call's arguments
    and a tool result that is one string: there it is the bytes as written in the
    file (escapes counted, quotes not), which is never less and needs no decoding.
    """

    kind: Kind
    speaker: Speaker
    line: int  # physical line from 1 where it entered (one-document formats: message number)
    row_turn: int  # row turns up to and including this record
    step: int  # agent steps up to and including this message
    prompt: int  # human prompts up to and including this one
    message: int  # ordinal of the joined message this turn belongs to
    segment: int  # compactions before this turn
    span: Span
    chars: int
    model: str | None = None
    version: str | None = None  # of the client
    time: float | None = None  # seconds since 1970, UTC
    tool: str | None = None  # name of the tool called or answering
    call_id: str | None = None  # links a tool result to its call
    is_error: bool = False
    final: bool = False  # assistant text whose joined message calls no tool and was not broken off
    abandoned: bool = False  # on a branch that a rewind left behind
    quoted: bool = False  # human words that the tool result just before already carries
    broken_off: bool = False  # the model's message was aborted in mid-stream: a part of an answer
    mode: str | None = None  # as declared: plan, auto-accept, a collaboration mode, an agent
    personality: str | None = None  # as declared: a personality or an output style
    steering: bool = False  # human words given to the model before its turn had ended


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction of the context by the client."""

    line: int  # of the boundary record (of the summary where there is no boundary)
    row_turn: int  # last row turn before it
    step: int
    prompt: int
    trigger: str | None = None  # "auto", "manual" or what the file says
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: int | None = None  # index into `Session.turns` of the summary turn
    kept: tuple[int, ...] = ()  # indices of earlier turns that stayed verbatim after the summary
    cleared: tuple[str, ...] = ()  # call ids of the results that a microcompaction cleared
    kind: CompactionKind = CompactionKind.FULL


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The loaded content of one turn."""

    text: str
    arguments: Mapping[str, Any] | None = None  # of a tool call
    images: int = 0  # pictures and documents left out of `text`


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Records the reader left out or mended, counted by reason."""

    reason: str  # a fixed phrase, e.g. "cut line", "synthetic assistant text"
    count: int
    lines: tuple[int, ...]  # of the first hundred, in the file's order

    @property
    def first_line(self) -> int:
        """Where it happened first."""
        return self.lines[0]


class Sidechain(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent's conversation, kept apart from the main thread."""

    agent_id: str
    path: Path  # the file that holds it (the session's own file for old clients)
    records: int
    models: tuple[str, ...] = ()
    call_id: str | None = None  # of the tool call that started it
    kind: str | None = None  # as declared: "Explore", "general-purpose", a name of the user's


class Source(Protocol):
    """How a reader gets content back out of its file; one small class a format."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read, in hexadecimal; found when it is first asked for."""
        ...

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        ...

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, raw record) for each physical line in the closed range that holds an object."""
        ...


@runtime_checkable
class Spread(Protocol):
    """What the source of a session offers beside `Source` if it lies in several files."""

    @property
    def files(self) -> Sequence[Path]:
        """All of them; `keep` takes these with the session's own."""
        ...


@runtime_checkable
class Archived(Protocol):
    """What the source of a session offers beside `Source` if it was read from packed files."""

    @property
    def archived(self) -> Sequence[Path]:
        """All of them."""
        ...


class SessionFile(msgspec.Struct, frozen=True):
    """One of the files that a session goes through, where its lines count through all of them."""

    path: Path
    first_line: int  # the session's line that is the first of this file


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """An indexed conversation. Value equality is by identity of file and content hash.

    `row_turn_lines[k - 1]` is the physical line of row turn `k`, so that the
    paper's positions can be found without another pass over the file.
    """

    id: str  # as the file says; else the file's stem
    path: Path
    format: str  # the reader's name: "claude-code", "chat"
    bytes: int
    turns: tuple[Turn, ...]
    compactions: tuple[Compaction, ...]
    row_turn_lines: Sequence[int]
    skipped: tuple[Skipped, ...]
    sidechains: tuple[Sidechain, ...]
    models: tuple[str, ...]  # in order of first use
    versions: tuple[str, ...]
    source: Source
    cwd: str | None = None
    system: str | None = None  # the system prompt, where the format keeps it
    member: str | None = None  # which session of a file that holds several
    parent: str | None = None  # id of the session whose sub-agent this is
    forked_from: str | None = None  # the session that this one began as a copy of, as the file says
    inherited: int = 0  # first turns: said in the session that it was forked from, before that
    files: tuple[SessionFile, ...] = ()  # that it goes through, its own last; none for most
    prompt_ids: tuple[str | None, ...] = ()  # the same in a copied history; none in most formats

    @property
    def name(self) -> str:
        """What `read_session` takes to read this one again: the path, and `#member`."""
        return name_of(self.path, self.member)

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal; found when it is first asked for.

        Raises `SessionError` when the file changed since it was read.
        """
        return self.source.sha256

    @property
    def prompts(self) -> int:
        """Messages that a human wrote."""
        return self.turns[-1].prompt if self.turns else 0

    @property
    def steps(self) -> int:
        """Agent steps: assistant messages of the main thread."""
        return self.turns[-1].step if self.turns else 0

    @property
    def row_turns(self) -> int:
        """JSONL row turns, the first paper's count."""
        return len(self.row_turn_lines)

    @property
    def prompt_kinds(self) -> dict[PromptKind, int]:
        """How many of the prompts were written on what occasion; all of them together."""
        kinds: dict[int, PromptKind] = {}  # by prompt
        failed = False
        for turn in self.turns:
            if turn.kind is RESULT:
                failed = turn.is_error
            elif turn.speaker is HUMAN and kinds.get(turn.prompt) is not PromptKind.TYPED:
                kinds[turn.prompt] = _occasion(turn, failed=failed)
        return {kind: list(kinds.values()).count(kind) for kind in PromptKind}

    @property
    def inherited_prompts(self) -> int:
        """Those of the prompts that were written in the session that this one was forked from."""
        return self.turns[self.inherited - 1].prompt if self.inherited else 0

    def place_of(self, line: int) -> tuple[Path, int]:
        """The file, and the line in it, that a line of the session is."""
        if not self.files:
            return self.path, line
        place = bisect_right(self.files, line, key=lambda file: file.first_line)
        file = self.files[max(place, 1) - 1]
        return file.path, line - file.first_line + 1

    @property
    def is_cut(self) -> bool:
        """Whether the file ends in the middle of its document."""
        return any(skipped.reason == CUT for skipped in self.skipped)

    @property
    def full_compactions(self) -> tuple[Compaction, ...]:
        """Compactions that replaced the conversation by a summary."""
        return tuple(c for c in self.compactions if c.kind is CompactionKind.FULL)

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """Load the content of these turns from the file, in the order given.

        Raises `SessionError` when the file changed since it was read.
        """
        return self.source.contents(turns)

    def text(self, turn: Turn) -> str:
        """The text of one turn."""
        return next(self.contents((turn,))).text


def _occasion(turn: Turn, *, failed: bool) -> PromptKind:
    """On what occasion a human wrote this; `failed`: so did the tool of the last result."""
    if turn.quoted:
        return PromptKind.FEEDBACK if failed else PromptKind.ANSWER
    return PromptKind.STEERING if turn.steering else PromptKind.TYPED
