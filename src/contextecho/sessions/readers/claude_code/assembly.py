"""From entries in file order to an indexed session.

The one thing to know: `Assembly` sees each entry once and appends to `turns`; what
only the end of the file can tell (final answers, abandoned branches, queued messages
that turned up again, answers that were withdrawn) is settled in `finish`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import (
    CALL,
    HUMAN,
    MODEL,
    RESULT,
    USER,
    Compaction,
    Kind,
    Span,
    Turn,
)
from contextecho.sessions.readers.claude_code.asides import FORKED
from contextecho.sessions.readers.claude_code.branches import ANSWER, OTHER, PROMPT, Branches
from contextecho.sessions.readers.claude_code.compactions import Compactions
from contextecho.sessions.readers.claude_code.declared import Declared
from contextecho.sessions.readers.claude_code.entries import UNREADABLE, Entry
from contextecho.sessions.readers.claude_code.parts import NOTHING_SAID, Part
from contextecho.sessions.readers.claude_code.queue import MessageQueue, Queued
from contextecho.sessions.readers.claude_code.records import CONVERSATION, METADATA
from contextecho.sessions.readers.claude_code.removal import Removal
from contextecho.sessions.readers.claude_code.sidechains import Sidechains

WITHDRAWN: Final = "answer that the client withdrew"
_ANSWERED: Final = ("", None)  # stands for a call whose result has come


class Assembly:
    """Builds the index of a session, one record after the other."""

    def __init__(self, tally: Tally) -> None:
        self.turns: list[Turn] = []
        self.row_turn_lines = array("I")
        self.sidechains = Sidechains()
        # Each name once, by itself, in order of first use: turns share the strings.
        self.models: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        self.session_id: str | None = None
        self.cwd: str | None = None
        self.compactions = Compactions(tally)
        self._tally = tally
        self._branches = Branches()
        self._queue = MessageQueue()
        self.declared = Declared()
        self._mode = self.declared.mode
        self._personality = self.declared.personality
        # session id -> message id -> ordinal
        self._ordinal_of: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._calls_tool = bytearray()  # by ordinal of the message
        self._broken_off: set[int] = set()  # ordinals of messages
        self._withdrawn: dict[str, None] = {}  # uuids of records
        self._said: set[int] = set()  # hashes of the parts of joined messages
        # Hashes of a user record's time and words -> its session and its uuid.
        self._typed: dict[int, tuple[str | None, str | None]] = {}
        self._copied: set[str | None] = {None}  # uuids of copies; none: before a first record
        self._copied_to = 0  # line of the last record that a branch copied, before its own
        self._has_own = False  # user records: they are what a branch begins with
        self._calls: dict[str, tuple[str, str | None]] = {}  # id, tool; or `_ANSWERED`
        self._step = self._prompt = 0
        self._prompt_ids: dict[int, str | None] = {}  # by where the record begins
        # Of the last prompt that has one, and how many messages of the queue came since.
        self._prompt_uuid: tuple[str | None, int] = (None, 0)

    def add(self, entry: Entry) -> None:
        """Take in the next entry of the file."""
        kind = entry.type
        if kind == "progress":
            self._add_node(entry)
            self._tally.add("progress", entry.line)
            if entry.aside is not None:
                self.sidechains.progressed(entry, entry.aside)
            return
        if entry.is_row_turn:
            self.row_turn_lines.append(entry.line)
        if entry.withdraws:
            self._withdrawn.update(dict.fromkeys(entry.withdraws))
        if entry.is_sidechain:
            self.sidechains.add(entry)
            self._tally.add("sub-agent record", entry.line)
            return
        if entry.aside is not None:
            self.sidechains.linked(entry.aside)
            self.declared.take(entry.aside)
            self._mode, self._personality = self.declared.mode, self.declared.personality
            if FORKED in entry.aside.declares and not self._has_own:
                self._copied_to = entry.line
        if kind in CONVERSATION:
            self._add_message(entry)
        elif kind == "queue-operation":
            self._add_queue_operation(entry)
        elif entry.left_out:  # a line, not a record
            self._tally.add(entry.left_out, entry.line)
        else:
            self._add_other(entry)

    def finish(self) -> tuple[tuple[Turn, ...], tuple[Compaction, ...]]:
        """The turns and compactions, with all that only the whole file can tell."""
        turns = self.turns
        for number in self._branches.abandoned(turns):
            turns[number] = replace(turns[number], abandoned=True)
        spoken = Kind.ASSISTANT
        for number, turn in enumerate(turns):
            if turn.message in self._broken_off:
                turns[number] = replace(turn, broken_off=True)
            elif turn.kind is spoken and not self._calls_tool[turn.message]:
                turns[number] = replace(turn, final=True)
        if gone := self._queue.retracted | self._withdraw():
            removal = Removal(turns, gone)
            self.compactions.remove(removal)
            return tuple(removal.rest()), tuple(self.compactions.found)
        return tuple(turns), tuple(self.compactions.found)

    def inherited(self, turns: Sequence[Turn]) -> int:
        """How many of these turns, the first, a branch copied (`/branch`)."""
        return bisect_right(turns, self._copied_to, key=attrgetter("line"))

    def prompt_ids(self, turns: Sequence[Turn]) -> Iterator[str | None]:
        """What tells each prompt of the finished turns from all others, also in other files."""
        prompt = 0
        for turn in turns:
            if turn.prompt > prompt:
                prompt = turn.prompt
                yield self._prompt_ids[turn.span.offset]

    def _withdraw(self) -> set[int]:
        """The numbers of the turns whose words of the model were taken back; they are counted."""
        turns = self.turns
        withdrawn = {
            number
            for number in self._branches.turns_of(self._withdrawn, len(turns))
            if turns[number].speaker is MODEL
        }
        records = groupby(sorted(withdrawn), lambda number: turns[number].span.offset)
        for _, numbers in records:
            self._tally.add(WITHDRAWN, turns[next(numbers)].line)
        return withdrawn

    def _add_other(self, entry: Entry) -> None:
        """A record that is no message: tree node, boundary, attachment or unknown."""
        if entry.uuid in self._branches.nodes:
            self._tally.add("repeated record", entry.line)
            return
        if entry.type == "attachment" and self._add_queued_command(entry):
            return
        self._add_node(entry)
        if not (entry.type == "system" and self._add_boundary(entry)):
            self._tally.add(_reason_for(entry.type), entry.line)

    def _add_node(self, entry: Entry) -> None:
        """A record of the tree that says nothing; below a copy it is taken for one."""
        self._branches.add_other(entry.uuid, entry.parent_uuid)
        if entry.parent_uuid in self._copied:
            self._copied.add(entry.uuid)

    def _add_message(self, entry: Entry) -> None:
        if entry.uuid in self._branches.nodes:
            self._tally.add("repeated record", entry.line)
            return
        for kind in entry.unknown:
            self._tally.add(f"unknown content block: {kind or 'without type'}", entry.line)
        if entry.left_out:
            self._tally.add(entry.left_out, entry.line)
            if entry.left_out != UNREADABLE:
                # That one does not claim its uuid: a readable record of the name may follow.
                self._branches.add_other(entry.uuid, entry.parent_uuid)
        elif entry.type == "assistant":
            self._add_answer(entry)
        else:
            self._add_user(entry)

    def _add_answer(self, entry: Entry) -> None:
        joined = self._join(entry)
        if joined is None:
            self._copied.add(entry.uuid)
            self._branches.add_other(entry.uuid, entry.parent_uuid)
            self._tally.add("repeated record", entry.line)
            return
        ordinal, is_new = joined
        move = ANSWER if is_new else OTHER
        self._branches.add_message(entry.uuid, entry.parent_uuid, len(self.turns), move)
        parts, model = entry.parts, entry.model
        if parts[0].model:  # of a message that two models wrote: the first
            self.models.setdefault(parts[0].model, parts[0].model)
        model = model and self.models.setdefault(model, model)
        if is_new:
            self._step += 1
            self._queue.answered()
        if entry.broken_off:
            self._broken_off.add(ordinal)
        self.compactions.answered()
        for number, part in enumerate(parts):
            key = hash((entry.message_id or ordinal, part.said))
            if key in self._said and part.said != NOTHING_SAID:
                self._tally.add("repeated content block", entry.line)
                continue
            self._said.add(key)
            if part.kind is CALL:
                self._calls_tool[ordinal] = 1
                if part.call_id:
                    self._calls[part.call_id] = part.call_id, part.tool
            wrote = part.model
            wrote = self.models.setdefault(wrote, wrote) if wrote else model
            if part.kind is RESULT:  # of a tool that the provider ran
                self._link(part)
                wrote = None
            span = Span(entry.offset, entry.length, number)
            self._append(entry, part, span, ordinal, wrote)

    def _add_user(self, entry: Entry) -> None:
        parts = entry.parts
        self._has_own |= self._copied_to < entry.line
        if self._is_answered(parts[0]) and all(
            part.quoted or self._is_answered(part) for part in parts
        ):
            self._copied.add(entry.uuid)
            self._branches.add_other(entry.uuid, entry.parent_uuid)
            self._tally.add("repeated record", entry.line)
            return
        if parts[0].kind is not RESULT and self._is_copied(entry):
            self._tally.add("repeated record", entry.line)
            return
        numbers: Iterable[int] = range(len(parts))
        if len(parts) > 1:
            numbers = [number for number in numbers if not self._is_printed(parts, number)]
        is_prompt = has_result = summarised = False
        for number in numbers:
            is_prompt |= parts[number].speaker is HUMAN
            has_result |= parts[number].kind is RESULT
        # Words inside a tool result never fork the conversation: only a typed prompt does.
        move = PROMPT if is_prompt and not has_result else OTHER
        self._branches.add_message(entry.uuid, entry.parent_uuid, len(self.turns), move)
        if is_prompt:
            self._prompt += 1
            self._prompt_ids[entry.offset] = entry.uuid
            self._prompt_uuid = entry.uuid, 0
        ordinal = self._new_ordinal()
        for number in numbers:
            part = parts[number]
            if part.kind is RESULT:
                self._link(part)
            elif part.kind is USER:
                self._queue.appeared(part.text)
            elif not summarised:
                self.compactions.summarised(self._here(entry.line), len(self.turns))
                summarised = True
            span = Span(entry.offset, entry.length, number)
            self._append(entry, part, span, ordinal, None)
            if has_result and part.speaker is HUMAN and not part.quoted:
                self._steer()

    def _is_copied(self, entry: Entry) -> bool:
        """Whether a resume copied these words; then their record stands for the one copied.

        Only where nothing but copies is above it, and another session has the words and the time.
        """
        said = [part.said for part in entry.parts]
        if entry.time is None or said[0] == NOTHING_SAID:
            return False
        here = entry.session_id, entry.uuid
        session_id, uuid = self._typed.setdefault(hash((entry.time, *said)), here)
        if session_id == entry.session_id or None in (session_id, entry.session_id):
            return False
        if entry.parent_uuid not in self._copied:
            return False
        self._copied.add(entry.uuid)
        self._branches.add_other(entry.uuid, uuid)
        return True

    def _is_answered(self, part: Part) -> bool:
        """Whether this is a further result of a call that has one."""
        return part.kind is RESULT and self._calls.get(part.call_id or "") is _ANSWERED

    def _link(self, result: Part) -> None:
        """Give a result the name of the tool that its call names."""
        if result.call_id and (call := self._calls.get(result.call_id)):
            self._calls[result.call_id] = _ANSWERED
            result.call_id, result.tool = call  # one string for call and result

    def _is_printed(self, parts: Sequence[Part], number: int) -> bool:
        """Whether these words in a result are no human's: another tool than the one that asks."""
        words = parts[number]
        if not (words.quoted and words.tool):
            return False
        asked, words.tool = words.tool, None
        answered = parts[number - 1].call_id or ""  # a call that has no other result yet
        return self._calls.get(answered, _ANSWERED)[1] != asked

    def _add_queue_operation(self, entry: Entry) -> None:
        match entry.operation:
            case "enqueue":
                self._enqueue(Queued(entry))
            case "dequeue":
                self._queue.dequeue(Queued(entry).text)
            case "popAll":
                self._queue.clear()
            case "remove":
                message = self._queue.remove(Queued(entry).text)
                if message is not None and message.by_human:
                    self._queue.injected(message.text, len(self.turns))
                    self._add_injected(entry, message.entry)
                    return
        self._tally.add("queue operation", entry.line)

    def _enqueue(self, message: Queued) -> None:
        """A message waits; one of the same time and words is the same one, written again."""
        entry = message.entry
        key = hash((entry.operation, entry.time, message.text))
        if entry.time is None or key not in self._said:
            self._said.add(key)
            self._queue.enqueue(message)

    def _add_queued_command(self, entry: Entry) -> bool:
        """A queued message attached to the conversation; whether it became a turn."""
        message = Queued(entry)
        if not (message.by_human and self._queue.attached(message.text)):
            return False
        self._branches.add_message(entry.uuid, entry.parent_uuid, len(self.turns), OTHER)
        self._add_injected(entry, entry)
        return True

    def _add_injected(self, here: Entry, said: Entry) -> None:
        """A human message given to the model in the middle of its work, typed earlier in `said`."""
        self._prompt += 1
        if here.uuid:
            self._prompt_uuid = here.uuid, 0
        self._prompt_ids[said.offset] = here.uuid or self._queued_id(said)
        self._append(here, said.parts[0], Span(said.offset, said.length), self._new_ordinal(), None)
        self._steer()

    def _queued_id(self, said: Entry) -> str | None:
        """What stands for the uuid of a message of the queue: when it was sent, after which."""
        uuid, since = self._prompt_uuid
        self._prompt_uuid = uuid, since + 1
        return None if said.time is None or uuid is None else f"{uuid} {since} {said.time}"

    def _steer(self) -> None:
        """The last turn was given to the model before its own had ended."""
        self.turns[-1] = replace(self.turns[-1], steering=True)

    def _add_boundary(self, entry: Entry) -> bool:
        """A compaction's boundary; whether this record is one."""
        here = self._here(entry.line)
        match entry.subtype:
            case "compact_boundary":
                self.compactions.boundary(entry.compaction, here, self._branches, len(self.turns))
            case "microcompact_boundary":
                self.compactions.microcompacted(entry.compaction, here)
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
        self, entry: Entry, part: Part, span: Span, ordinal: int, model: str | None
    ) -> None:
        if self.session_id is None:
            self.session_id, self.cwd = entry.session_id, entry.cwd
        tool, version = part.tool, entry.version
        self.turns.append(
            # By position: a keyword costs more than the value it names.
            Turn(
                part.kind,
                part.speaker,
                entry.line,
                len(self.row_turn_lines),
                self._step,
                self._prompt,
                ordinal,
                self.compactions.segment,
                span,
                part.chars,
                model,
                version and self.versions.setdefault(version, version),
                entry.time,
                tool and self._tools.setdefault(tool, tool),
                part.call_id,
                part.is_error,
                False,
                False,
                part.quoted,
                False,
                self._mode,
                self._personality,
            )
        )

    def _join(self, entry: Entry) -> tuple[int, bool] | None:
        """The ordinal of the message that this record is a part of, and whether it is new.

        None where a resume copied the record: all of it stands under another session's id.
        """
        if entry.message_id is None:
            return self._new_ordinal(), True
        known = self._ordinal_of[entry.session_id or ""]
        ordinal = known.get(entry.message_id)
        if ordinal is not None:
            return ordinal, False
        if len(self._ordinal_of) > 1 and all(
            hash((entry.message_id, part.said)) in self._said for part in entry.parts
        ):
            return None
        known[entry.message_id] = ordinal = self._new_ordinal()
        return ordinal, True

    def _new_ordinal(self) -> int:
        self._calls_tool.append(0)
        return len(self._calls_tool) - 1


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
