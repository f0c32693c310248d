"""From records in file order to an indexed session.

The one thing to know: `Assembly` sees each record once, keeps nothing of its
text, and appends to `turns`; what only the end of the file can tell (final
answers, abandoned branches, queued messages that turned up again) is settled in
`finish`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec.structs import replace

from contextecho.sessions.model import Compaction, Kind, Span, Speaker, Turn
from contextecho.sessions.readers.claude_code.branches import ANSWER, OTHER, PROMPT, Branches
from contextecho.sessions.readers.claude_code.compactions import Compactions
from contextecho.sessions.readers.claude_code.parts import CALL, HUMAN, RESULT, Part, parts_of
from contextecho.sessions.readers.claude_code.queue import MessageQueue, Queued
from contextecho.sessions.readers.claude_code.records import (
    CONVERSATION,
    METADATA,
    Message,
    Record,
)
from contextecho.sessions.readers.claude_code.sidechains import Inside
from contextecho.sessions.tally import Tally

SYNTHETIC = "<synthetic>"


class Assembly:
    """Builds the index of a session, one record after the other."""

    def __init__(self, tally: Tally) -> None:
        self.turns: list[Turn] = []
        self.row_turn_lines = array("I")
        self.sidechains = Inside()
        # Each name once, by itself, in order of first use: turns share the strings.
        self.models: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        self.session_id: str | None = None
        self.cwd: str | None = None
        self.compactions = Compactions()
        self._tally = tally
        self._branches = Branches()
        self._queue = MessageQueue()
        # session id -> message id -> ordinal
        self._ordinal_of: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._calls_tool = bytearray()  # by ordinal of the message
        self._said: set[int] = set()  # hashes of the parts of joined messages
        self._open_calls: dict[str, tuple[str, str | None]] = {}  # no result yet: id, tool
        self._step = self._prompt = 0

    def add(self, record: Record, span: Span, line: int, *, whole_line: bool = True) -> None:
        """Take in one record; `whole_line` is false for one mended out of a broken line."""
        if record.type == "progress":  # a third of many files: nothing more to look at
            self._branches.add_other(record.uuid, record.parent_uuid)
            self._tally.add("progress", line)
            return
        if whole_line and _is_row_turn(record):
            self.row_turn_lines.append(line)
        if record.is_sidechain:
            self.sidechains.add(record)
            self._tally.add("sub-agent record", line)
        elif record.type in CONVERSATION:
            self._add_message(record, span, line)
        elif record.type == "queue-operation":
            self._add_queue_operation(record, span, line)
        else:
            self._add_other(record, span, line)

    def finish(self) -> tuple[tuple[Turn, ...], tuple[Compaction, ...]]:
        """The turns and compactions, with all that only the whole file can tell."""
        turns = self.turns
        for number in self._branches.abandoned(turns):
            turns[number] = replace(turns[number], abandoned=True)
        spoken = Kind.ASSISTANT
        for number, turn in enumerate(turns):
            if turn.kind is spoken and not self._calls_tool[turn.message]:
                turns[number] = replace(turn, final=True)
        retracted = sorted(self._queue.retracted)
        if retracted:
            self.compactions.retract(retracted, turns)
            turns = list(_without(turns, frozenset(retracted)))
        return tuple(turns), tuple(self.compactions.found)

    def _add_other(self, record: Record, span: Span, line: int) -> None:
        """A record that is no message: tree node, boundary, attachment or unknown."""
        repeated = record.uuid in self._branches.nodes
        self._branches.add_other(record.uuid, record.parent_uuid)
        if repeated:
            self._tally.add("repeated record", line)
        elif not (
            (record.type == "system" and self._add_boundary(record, line))
            or (record.type == "attachment" and self._add_queued_command(record, span, line))
        ):
            self._tally.add(_reason_for(record.type), line)

    def _add_message(self, record: Record, span: Span, line: int) -> None:
        if record.uuid in self._branches.nodes:
            self._tally.add("repeated record", line)
            return
        unknown: list[str] = []
        parts = parts_of(record, unknown)
        for kind in unknown:
            self._tally.add(f"unknown content block: {kind or 'without type'}", line)
        message = record.message
        if message is None or message.content is None:
            # It does not claim its uuid: a readable record of that name may follow.
            self._tally.add("message without readable content", line)
        elif reason := _left_out(record, message, parts):
            self._tally.add(reason, line)
            self._branches.add_other(record.uuid, record.parent_uuid)
        elif record.type == "assistant":
            self._add_answer(record, message, parts, span, line)
        else:
            self._add_user(record, parts, span, line)

    def _add_answer(
        self, record: Record, message: Message, parts: list[Part], span: Span, line: int
    ) -> None:
        ordinal, is_new = self._join(record, message)
        self._branches.add_message(
            record.uuid, record.parent_uuid, len(self.turns), ANSWER if is_new else OTHER
        )
        model = message.model
        model = model and self.models.setdefault(model, model)
        self._step += is_new
        self.compactions.answered()
        for number, part in enumerate(parts):
            if self._is_repeat(ordinal, part):
                self._tally.add("repeated content block", line)
                continue
            if part.kind is CALL:
                self._calls_tool[ordinal] = 1
                if part.call_id:
                    self._open_calls[part.call_id] = part.call_id, part.tool
            self._append(record, part, number, span, line, ordinal, model)

    def _add_user(self, record: Record, parts: list[Part], span: Span, line: int) -> None:
        is_prompt = has_result = False
        for part in parts:
            is_prompt |= part.speaker is HUMAN
            has_result |= part.kind is RESULT
        # Words inside a tool result never fork the conversation: only a typed prompt does.
        typed = is_prompt and not has_result
        self._branches.add_message(
            record.uuid,
            record.parent_uuid,
            len(self.turns),
            PROMPT if typed else OTHER,
        )
        self._prompt += is_prompt
        ordinal = self._new_ordinal()
        summarised = False
        for number, part in enumerate(parts):
            if part.kind is RESULT and part.call_id:
                call = self._open_calls.pop(part.call_id, None)
                if call is not None:
                    part.call_id, part.tool = call  # one string for call and result
            elif part.kind is Kind.SUMMARY and not summarised:
                self.compactions.summarised(self._here(line), len(self.turns))
                summarised = True
            elif part.kind is Kind.USER:
                self._queue.appeared(part.text)
            self._append(record, part, number, span, line, ordinal, None)

    def _add_queue_operation(self, record: Record, span: Span, line: int) -> None:
        match record.operation:
            case "enqueue":
                part = _first(parts_of(record))
                by_human = part is not None and part.speaker is Speaker.HUMAN
                self._queue.enqueue(Queued(part.text if part else "", span, by_human))
            case "dequeue":
                self._queue.dequeue()
            case "popAll":
                self._queue.clear()
            case "remove":
                message = self._queue.remove()
                if message is not None and message.by_human:
                    self._queue.injected(message.text, len(self.turns))
                    self._add_injected(record, message.text, message.span, line)
                    return
        self._tally.add("queue operation", line)

    def _add_queued_command(self, record: Record, span: Span, line: int) -> bool:
        """A queued message attached to the conversation; whether it became a turn."""
        part = _first(parts_of(record))
        if part is None or part.speaker is not Speaker.HUMAN:
            return False
        if not self._queue.attached(part.text):
            return False
        self._add_injected(record, part.text, span, line)
        return True

    def _add_injected(self, record: Record, text: str, span: Span, line: int) -> None:
        """A human message given to the model in the middle of its work."""
        self._prompt += 1
        part = Part(Kind.USER, Speaker.HUMAN, text)
        self._append(record, part, 0, span, line, self._new_ordinal(), None)

    def _add_boundary(self, record: Record, line: int) -> bool:
        """A compaction's boundary; whether this record is one."""
        match record.subtype:
            case "compact_boundary":
                self.compactions.boundary(
                    record.compact_metadata, self._here(line), self._branches, len(self.turns)
                )
            case "microcompact_boundary":
                self.compactions.microcompacted(record.microcompact_metadata, self._here(line))
            case _:
                return False
        return True

    def _here(self, line: int) -> Compaction:
        """A compaction at this point of the file, with nothing known of it yet."""
        return Compaction(
            line=line,
            row_turn=len(self.row_turn_lines),
            step=self._step,
            prompt=self._prompt,
        )

    def _append(
        self,
        record: Record,
        part: Part,
        number: int,
        span: Span,
        line: int,
        ordinal: int,
        model: str | None,
    ) -> None:
        if self.session_id is None:
            self.session_id, self.cwd = record.session_id, record.cwd
        tool, version = part.tool, record.version
        self.turns.append(
            # Positions first: with more than 15 keywords Python builds a dict for the call.
            Turn(
                part.kind,
                part.speaker,
                line,
                len(self.row_turn_lines),
                self._step,
                self._prompt,
                message=ordinal,
                segment=self.compactions.segment,
                span=span if number == 0 else replace(span, part=number),
                chars=part.chars,
                model=model,
                version=version and self.versions.setdefault(version, version),
                time=_seconds(record.timestamp),
                tool=tool and self._tools.setdefault(tool, tool),
                call_id=part.call_id,
                is_error=part.is_error,
                quoted=part.quoted,
            )
        )

    def _join(self, record: Record, message: Message) -> tuple[int, bool]:
        """The ordinal of the message that this record is a part of, and whether it is new."""
        if message.id is None:
            return self._new_ordinal(), True
        known = self._ordinal_of[record.session_id or ""]
        ordinal = known.get(message.id)
        if ordinal is not None:
            return ordinal, False
        known[message.id] = ordinal = self._new_ordinal()
        return ordinal, True

    def _new_ordinal(self) -> int:
        self._calls_tool.append(0)
        return len(self._calls_tool) - 1

    def _is_repeat(self, ordinal: int, part: Part) -> bool:
        """Whether the joined message already holds this very part."""
        said = part.call_id or part.text
        key = hash((ordinal, said))
        if key in self._said:
            return bool(said)
        self._said.add(key)
        return False


def _first(parts: list[Part]) -> Part | None:
    return parts[0] if parts else None


def _is_row_turn(record: Record) -> bool:
    """The first paper's rule (reference, 1.0), sidechain, meta and error rows included.

    A row turn is an assistant row of any content, or a user row with text and no tool result.
    """
    if record.type == "assistant":
        return True
    if record.type != "user" or record.message is None:
        return False
    content = record.message.content
    if isinstance(content, str) or content is None:
        return bool(content)
    has_text = False
    for block in content:
        if block.type == "tool_result":
            return False
        has_text |= block.type == "text" and bool(block.text)
    return has_text


def _left_out(record: Record, message: Message, parts: list[Part]) -> str:
    """Why a message is no part of the conversation; "" if it is."""
    if record.type == "assistant" and record.is_api_error_message:
        return "API error shown as assistant text"
    if record.type == "assistant" and message.model == SYNTHETIC:
        return "synthetic assistant text"
    return "" if parts else "message with nothing but blanks"


def _reason_for(kind: str) -> str:
    """Why a record that is no message is not in the conversation."""
    if not kind:
        return "record without type"
    if kind in METADATA:
        return "client metadata"
    if kind == "attachment":
        return "attachment"
    if kind == "system":
        return "client notice"
    return f"unknown record type: {kind}"


def _seconds(time: datetime | None) -> float | None:
    """Seconds since 1970; a time without a zone is UTC."""
    if time is None:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _without(turns: list[Turn], gone: frozenset[int]) -> Iterator[Turn]:
    """The turns without the retracted ones, whose prompts are no longer counted."""
    fewer = 0
    for number, turn in enumerate(turns):
        if number in gone:
            fewer += 1
        else:
            yield replace(turn, prompt=turn.prompt - fewer) if fewer else turn
