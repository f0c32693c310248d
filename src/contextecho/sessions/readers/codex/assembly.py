"""Putting a rollout's lines together into a conversation.

The one thing to know: everything is said twice. What the model said is taken from the API's
items, what a human typed from the client's events (`hearing`); the other saying of each is
left out and counted. Lines copied from another session (`replay`) are no part of this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import HUMAN, MODEL, RESULT, TOOL
from contextecho.sessions.readers.codex.chain import Part
from contextecho.sessions.readers.codex.compactions import Texts, kept_texts, tokens_in
from contextecho.sessions.readers.codex.context import Context, is_sub_agents
from contextecho.sessions.readers.codex.fragments import cwd_in
from contextecho.sessions.readers.codex.hearing import Hearing
from contextecho.sessions.readers.codex.pieces import ASKING, odd_blocks, pieces_of, typed_text
from contextecho.sessions.readers.codex.records import EVENTS, ITEMS, LINES, Payload, Record
from contextecho.sessions.readers.codex.replay import Replay
from contextecho.sessions.readers.codex.review import REPORT, REQUEST, Review

COPIED: Final = "copied from the session that this is a fork of"
OTHERS: Final = "metadata of another session"
SAID_TWICE: Final = "said again in an event"
UNRECORDED: Final = "reasoning encrypted or not recorded"
NO_SUMMARY: Final = "compaction summary encrypted or not recorded"
SUMMARY_TWICE: Final = "compaction summary, said again"
NOT_KEPT: Final = "message kept by a compaction, no turn as it stands"
CLIENT: Final = "client metadata"
TAKEN_BACK: Final = "compaction of an abandoned branch"

_SPEECH: Final = frozenset({"agent_message", "agent_reasoning", "agent_reasoning_raw_content"})
_SPEECH_ITEMS: Final = frozenset({"AgentMessage", "Reasoning"})
_BEGINNINGS: Final = frozenset({"task_started", "turn_started"})
_ENDS: Final = frozenset({"task_complete", "turn_complete", "turn_aborted"})
_STOPPED: Final = "aborted"  # how the client begins the result of a tool that it stopped


class Assembly:
    """Builds the index of a session, one line of one file after the other."""

    def __init__(self, conversation: Conversation, head: Payload) -> None:
        """`head` is its own metadata."""
        self.context = Context()
        self.copied = 0
        self.inherited = 0  # first turns, said in the session that this is a fork of
        self.tally = conversation.tally
        self._conversation = conversation
        self._turns = conversation.turns
        self._head = head
        self._hearing = Hearing(conversation.tally, self._say_to_model)
        self._is_entered = False  # the metadata of the file that is read now were met
        self._is_inherited = False  # what is read now
        self._kept = 0  # the byte from which on a revert took back what is read now
        self._replay = Replay()
        self._review = Review()
        self._asked: set[str] = set()  # calls by which the model asks the human
        self._texts = Texts()
        self._prompts: list[int] = []  # first turns of those that a human typed, none abandoned
        self._task_began = 0  # number of the first turn since
        self._is_asked = False  # a human typed something since, and it did not end
        self._step = 0
        self._in_step = False
        self._tool_was_stopped = False  # says the last result
        self._tokens: int | None = None  # in the context, as last counted
        self._just_compacted = False
        self._take: dict[str, Callable[[Placed, Payload], None]] = {
            "response_item": self._add_item,
            "event_msg": self._add_event,
            "turn_context": self._set_context,
            "compacted": self._compact,
            "inter_agent_communication": self._give_to_model,
        }

    def begin(self, part: Part, line: int, offset: int) -> None:
        """The next file of the session begins, with this line and this byte."""
        self._pause()
        if self.context.is_taken_back:
            self._task_began = len(self._turns)
        if self._is_inherited:
            self.inherited = len(self._turns)
        self._is_inherited = part.is_inherited
        self.context.is_taken_back = False
        self._is_entered = False
        self._kept = offset + part.kept
        self._replay = Replay()
        if part.lack is not None:
            self.tally.add(part.lack, line)

    def add(self, placed: Placed) -> None:
        """Take in the next line of the file."""
        record: Record = placed.value
        payload = record.payload
        if placed.span.offset >= self._kept and not self.context.is_taken_back:
            self._pause()
            self.context.is_taken_back = True
        if payload is None:
            self.tally.add(CLIENT if record.record_type else "line without content", placed.line)
        elif record.type == "session_meta":
            self._meet(placed, payload)
        elif not self._replay.is_over and self._replay.is_copied(record):
            self.copied += 1
            self.tally.add(COPIED, placed.line)
        elif record.type in self._take:
            self._take[record.type](placed, payload)
        else:
            self.tally.add(CLIENT if record.type in LINES else _unknown(record.type), placed.line)

    def finish(self) -> None:
        """The last file is at its end."""
        self._pause()
        if self.context.system:
            self._conversation.system.append(self.context.system)

    def _pause(self) -> None:
        """What comes next stands elsewhere: nothing waits for it, and no message goes on in it."""
        self._hearing.flush()
        self._in_step = False

    def _meet(self, placed: Placed, meta: Payload) -> None:
        """Metadata: the file's own, or those of the session whose history is copied here."""
        if not self._is_entered:
            self._is_entered = True
            if self.context.id is None:
                self.context.begin(self._head if self._head.id else meta)
            self.context.go_on(meta)
            self._hearing.by_human = not is_sub_agents(meta)
            self._replay.begin(meta, placed.value)
        elif not self.context.meet(meta):
            self.tally.add(OTHERS, placed.line)
            self._replay.meet()
            return
        self.tally.add(CLIENT, placed.line)

    def _set_context(self, placed: Placed, payload: Payload) -> None:
        self.context.turn(payload)
        self._is_asked = False
        self._review.leave()
        self.tally.add(CLIENT, placed.line)

    def _add_item(self, placed: Placed, payload: Payload) -> None:
        """Something that the model said, or was given."""
        if isinstance(payload.content, list) or isinstance(payload.output, list):
            for kind in odd_blocks(payload):
                self.tally.add(f"unknown content block: {kind}", placed.line)
        pieces = pieces_of(placed.value)
        if reason := self._why_left_out(placed.value, payload, pieces):
            self.tally.add(reason, placed.line)
        elif pieces[0].speaker is MODEL:
            self._hearing.flush()
            if payload.name == ASKING and payload.call_id:
                self._asked.add(payload.call_id)
            self._just_compacted = False
            self._step += not self._in_step
            self._in_step = True
            self._conversation.say(self.context.message(placed, pieces, f"step {self._step}"))
        elif pieces[0].speaker is TOOL:
            self._hearing.flush()
            self._in_step = False
            self._tool_was_stopped = pieces[0].text.startswith(_STOPPED)
            heard = pieces if payload.call_id in self._asked else pieces[:1]
            self._conversation.say(self.context.message(placed, heard))
        elif payload.type == "message" and payload.role == "user":
            self._hearing.item(self.context.message(placed, pieces))
            self._in_step = False
        else:
            self._give_to_model(placed, payload)

    def _why_left_out(self, record: Record, payload: Payload, pieces: list[Piece]) -> str | None:
        """Why an item is no turn; none where it is one."""
        if not pieces:
            return _why_silent(payload)
        if record.metadata and record.metadata.compaction_output:
            return SUMMARY_TWICE
        if pieces[0].speaker is MODEL and self._review.takes_report(payload):
            return REPORT
        return None

    def _give_to_model(self, placed: Placed, _: Payload) -> None:
        """Something that the client wrote for the model."""
        self._in_step = False
        self._hearing.clients(self.context.message(placed, pieces_of(placed.value)))

    def _say_to_model(self, message: Message, whole: str) -> None:
        """Say a message with the role `user` or `developer`, and remember where its texts are."""
        first = len(self._turns)
        self._conversation.say(message)
        if message.abandoned:
            return
        for number, piece in enumerate(filter(None, message.pieces), first):
            self._texts.add(piece.text, range(number, number + 1))
            self.context.cwd = self.context.cwd or cwd_in(piece.text)
        if whole and len(self._turns) > first + 1:
            self._texts.add(whole, range(first, len(self._turns)))
        if any(turn.speaker is HUMAN for turn in self._turns[first:]):
            self._prompts.append(first)

    def _add_event(self, placed: Placed, payload: Payload) -> None:
        """What the client showed, or did."""
        kind = payload.type
        if kind == "token_count":
            self._count_tokens(payload)
            self.tally.add("token count", placed.line)
        elif kind in _SPEECH or (payload.item and payload.item.type in _SPEECH_ITEMS):
            self.tally.add(SAID_TWICE, placed.line)
        elif (text := typed_text(payload)) is not None and self._review.takes_request(text):
            self.tally.add(REQUEST, placed.line)
        elif text is not None:
            self._in_step = False
            message = self.context.message(placed, pieces_of(placed.value))
            message.steering, self._is_asked = self._is_asked, True
            self._hearing.event(message, kind, text)
        elif pieces := pieces_of(placed.value):
            self._hearing.flush()
            self._conversation.say(self.context.message(placed, pieces))
        else:
            self._note(kind, payload)
            known = kind in EVENTS or kind in _BEGINNINGS
            self.tally.add("client event" if known else _unknown(kind), placed.line)

    def _note(self, kind: str, payload: Payload) -> None:
        """What an event does to the turns before it, and to those after it."""
        self._review.note(payload)
        self._is_asked &= kind not in _BEGINNINGS and kind not in _ENDS
        if kind in _ENDS:
            self._hearing.end_turn()
        if kind in _BEGINNINGS:
            self._in_step = False
            self._task_began = len(self._turns)
        elif kind == "turn_aborted":
            self._in_step = False
            self._break_off()
        elif kind == "thread_rolled_back":
            self._roll_back(payload.num_turns or 0)

    def _count_tokens(self, payload: Payload) -> None:
        tokens = tokens_in(payload)
        if tokens is None:
            return
        self._tokens = tokens
        if self._just_compacted:
            self._just_compacted = False
            self._conversation.note(tokens_after=tokens)

    def _compact(self, placed: Placed, payload: Payload) -> None:
        """The client replaced the conversation by a summary, and by messages that it kept."""
        self._hearing.flush()
        self._in_step = False
        if self.context.is_taken_back:
            self.tally.add(TAKEN_BACK, placed.line)
            self._conversation.say(self.context.message(placed, pieces_of(placed.value)))
            return
        self._just_compacted = True
        self._conversation.compact(placed.line, tokens_before=self._tokens)
        kept: set[int] = set()
        for turns in self._texts.kept(kept_texts(payload)):
            if turns is None:
                self.tally.add(NOT_KEPT, placed.line)
            kept.update(turns or ())
        self._conversation.keep(sorted(kept))
        pieces = pieces_of(placed.value)
        if not pieces:
            self.tally.add(NO_SUMMARY, placed.line)
        self._conversation.say(self.context.message(placed, pieces))

    def _break_off(self) -> None:
        """The turn was stopped: so was the model's last message, unless it had come to its end.

        It had, where a tool answered it by itself, or where the file says that it was final.
        """
        turns, last = self._turns, len(self._turns) - 1
        while last >= self._task_began and turns[last].speaker is not MODEL:
            if turns[last].kind is RESULT and not self._tool_was_stopped:
                return
            last -= 1
        if last < self._task_began:
            return
        of_message = [
            number
            for number in range(self._task_began, last + 1)
            if turns[number].message == turns[last].message
        ]
        if not any(turns[number].final for number in of_message):
            for number in of_message:
                turns[number] = replace(turns[number], broken_off=True)

    def _roll_back(self, prompts: int) -> None:
        """The human went back: the last so many prompts, and all since, are left behind."""
        self._hearing.flush()
        left_behind = self._prompts[-prompts:] if prompts > 0 else []
        if not left_behind:
            return
        first = left_behind[0]
        del self._prompts[-prompts:]
        for number in range(first, len(self._turns)):
            self._turns[number] = replace(self._turns[number], abandoned=True)


def _why_silent(payload: Payload) -> str:
    """Why an item is no turn."""
    if payload.type == "reasoning":
        return UNRECORDED
    if payload.type in ("message", "agent_message"):
        return "message without readable content"
    return CLIENT if payload.type in ITEMS else _unknown(payload.type)


def _unknown(kind: str) -> str:
    return f"unknown record type: {kind}" if kind else "record without type"
