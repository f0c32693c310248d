"""Making one conversation of calls to a model, each of which repeats the history.

The one thing to know: of each call, what was not said before is taken in: messages that
follow on the history that the calls before it left, and the answer. A history that lost
its beginning was compacted by the client, one that lost its end was rewound. Messages
are the same if their words, calls and call ids are; thinking is not repeated by clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import CompactionKind, Kind, Speaker

_SUMMARY = re.compile(r"summar|continued from a previous", re.IGNORECASE)
_BEGINNING: Final = 400  # characters in which a message says that it is a summary
_SHARED: Final = 2  # messages that make a call with other instructions part of a thread


class _Said(Struct, gc=False):
    """A message as the next call should repeat it."""

    key: int
    results: dict[str, int]  # the text of each tool result, hashed, by call id
    turns: range


class Threads:
    """Tells which calls go on with one another: those of one agent.

    A call is of the thread whose messages it repeats; with the same instructions one
    message is enough. One that repeats none begins a thread if it holds a single message
    that is no summary, and else follows the last thread of the same instructions.
    """

    def __init__(self) -> None:
        self._contexts: list[list[int]] = []
        self._said: list[int] = []  # messages of each thread
        self._told: dict[str | None, dict[int, None]] = {}  # by instructions, the last last
        self._begun: dict[tuple[int, ...], set[int]] = {}  # by the first message, the first two

    def add(
        self, instructions: str | None, history: Sequence[Message], answer: Sequence[Message]
    ) -> int:
        """The number of the thread that this call, the next in time, is of."""
        history = [message for message in history if _is_repeated(message)]
        keys = [_heard(message).key for message in history]
        told = self._told.setdefault(instructions, {})
        begins = len(history) == 1 and not _says_summary(history[0])
        thread = self._thread(keys, told, begins)
        if thread == len(self._contexts):
            self._contexts.append([])
            self._said.append(0)
        if not keys:
            keys = self._contexts[thread]  # a history that was not recorded loses nothing
        common = _common(self._contexts[thread], keys)
        answers = [_heard(message).key for message in answer if _is_repeated(message)]
        self._follow(thread, keys + answers)
        self._said[thread] += len(keys) - common + len(answers)
        told.pop(thread, None)
        told[thread] = None
        return thread

    def _thread(self, keys: Sequence[int], told: dict[int, None], begins: bool) -> int:
        """The thread that a call with this history goes on with, or the next new one."""
        best = self._nearest(keys, self._begins_like(keys, 1) & told.keys())
        if best is None:
            best = self._nearest(keys, self._begins_like(keys, _SHARED))
        if best is not None:
            return best
        return next(reversed(told)) if told and not begins else len(self._contexts)

    def _nearest(self, keys: Sequence[int], threads: Set[int]) -> int | None:
        """Of these threads the one that shares the most messages, or else was begun last."""
        shared = {n: _common(self._contexts[n], keys) for n in threads}
        return max(shared, key=lambda n: (shared[n], n), default=None)

    def _begins_like(self, keys: Sequence[int], count: int) -> Set[int]:
        """The threads of which the first `count` messages are these."""
        return self._begun.get(tuple(keys[:count]), set()) if len(keys) >= count else set()

    def _follow(self, thread: int, context: list[int]) -> None:
        """Take this for what the next call of the thread should repeat."""
        for beginning in _beginnings(self._contexts[thread]):
            self._begun[beginning].discard(thread)
        for beginning in _beginnings(context):
            self._begun.setdefault(beginning, set()).add(thread)
        self._contexts[thread] = context

    @property
    def main(self) -> int:
        """The thread in which most was said."""
        return max(range(len(self._said)), key=self._said.__getitem__, default=0)


class Repeated:
    """Takes in calls in their order and says each message once."""

    def __init__(self, conversation: Conversation, place: Callable[[Placed], None]) -> None:
        """`place` is told the number of each message that is said, and where it lies."""
        self._conversation = conversation
        self._place = place
        self._context: list[_Said] = []
        self._number = 0

    def call(
        self, instructions: str | None, history: Sequence[Message], answer: Sequence[Message]
    ) -> None:
        """Take in one call. Messages are numbered here, in the order in which they are said."""
        system = self._conversation.system
        if instructions is not None and instructions not in system:
            if system or self._number:
                self._conversation.tally.add("change of the instructions", self._number + 1)
            else:
                system.append(instructions)
        history = [message for message in history if _is_repeated(message)]
        heard = [_heard(message) for message in history]
        if _is_aligned(self._context, heard):
            self._mend(heard)
        elif heard:  # a call has a history; where there is none it was not recorded
            keys = [now.key for now in heard]
            self._lose(heard, _common([said.key for said in self._context], keys), history)
        for message in history[len(self._context) :]:
            self._say(message)
        for message in answer:
            self._say(message)

    def _mend(self, heard: Sequence[_Said]) -> None:
        """Count what the client changed in a history that is still all there."""
        cleared = []
        for said, now in zip(self._context, heard, strict=False):
            if said.key != now.key:
                self._conversation.tally.add("message changed by the client", self._number)
            cleared += [
                id for id, text in now.results.items() if said.results.get(id, text) != text
            ]
            said.key, said.results = now.key, now.results
        if cleared:
            self._number += 1
            self._conversation.compact(
                self._number, kind=CompactionKind.MICRO, cleared=tuple(cleared)
            )

    def _lose(self, heard: Sequence[_Said], common: int, history: Sequence[Message]) -> None:
        """Follow a history that lost messages: a rewind, or a compaction and what it kept."""
        lost = self._context[common:]
        by_key: dict[int, list[_Said]] = {}
        for said in lost:
            by_key.setdefault(said.key, []).append(said)
        kept = [same.pop(0) if (same := by_key.get(now.key)) else None for now in heard[common:]]
        new = next((i for i, said in enumerate(kept) if said is None), len(kept))
        is_summary = _may_be_summary(kept[new:], history[common + new :])
        if common and not any(kept) and not is_summary:
            self._conversation.abandon(turn for said in lost for turn in said.turns)
            self._context = self._context[:common]
            return
        self._number += 1
        self._conversation.compact(self._number)
        stayed = [*self._context[:common], *(said for said in kept if said is not None)]
        self._conversation.keep([turn for said in stayed for turn in said.turns])
        self._context = self._context[:common]
        for place, (known, message) in enumerate(zip(kept, history[common:], strict=True)):
            if known is not None:
                self._context.append(known)
            else:
                self._say(_as_summary(message) if is_summary and place == new else message)

    def _say(self, message: Message) -> None:
        self._number += 1
        message = replace(message, line=self._number)
        self._place(Placed(self._number, message.span, None))
        first = len(self._conversation.turns)
        self._conversation.say(message)
        if _is_repeated(message):
            said = _heard(message)
            said.turns = range(first, len(self._conversation.turns))
            self._context.append(said)


def _is_repeated(message: Message) -> bool:
    """Whether clients send the message again: not one of thoughts alone, or of nothing."""
    return any(piece is not None and piece.kind is not Kind.THINKING for piece in message.pieces)


def _heard(message: Message) -> _Said:
    """What a message says, whoever wrote it down."""
    words, calls, results = [], [], {}
    for piece in message.pieces:
        if piece is None or piece.kind is Kind.THINKING:
            continue
        if piece.kind is Kind.TOOL_CALL:
            calls.append((piece.tool, piece.call_id or "".join(piece.text.split())))
        elif piece.kind is Kind.TOOL_RESULT and piece.call_id:
            calls.append((None, piece.call_id))
            results[piece.call_id] = hash(piece.text)
        else:
            words.append(piece.text.strip())
    by_model = any(piece is not None and piece.speaker is Speaker.MODEL for piece in message.pieces)
    return _Said(hash((by_model, "\n".join(words), tuple(calls))), results, range(0))


def _beginnings(keys: Sequence[int]) -> list[tuple[int, ...]]:
    """The first message, and as many as make a call with other instructions part of a thread."""
    return [tuple(keys[:count]) for count in (1, _SHARED) if len(keys) >= count]


def _common(context: Sequence[int], keys: Sequence[int]) -> int:
    """How many messages at the beginning are the same."""
    pairs = enumerate(zip(context, keys, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(context), len(keys)))


def _is_aligned(context: Sequence[_Said], heard: Sequence[_Said]) -> bool:
    """Whether the history is all there: its last message stands where it stood."""
    end = len(context)
    return not end or (len(heard) >= end and heard[end - 1].key == context[end - 1].key)


def _may_be_summary(kept: Sequence[_Said | None], messages: Sequence[Message]) -> bool:
    """Whether the first new message stands for what was lost.

    It does if other messages follow it, or if it says so itself.
    """
    if not messages or _is_by_model(messages[0]):
        return False
    prompts = [m for m, said in zip(messages, kept, strict=True) if said is None and _is_prompt(m)]
    return _is_prompt(messages[0]) and (
        any(said is not None for said in kept) or len(prompts) > 1 or _says_summary(messages[0])
    )


def _says_summary(message: Message) -> bool:
    words = " ".join(piece.text[:_BEGINNING] for piece in message.pieces if piece is not None)
    return _SUMMARY.search(words[:_BEGINNING]) is not None


def _is_by_model(message: Message) -> bool:
    return any(piece is not None and piece.speaker is Speaker.MODEL for piece in message.pieces)


def _is_prompt(message: Message) -> bool:
    """Whether a human's words, or a summary, are in the message."""
    spoken = (Speaker.HUMAN, Speaker.SUMMARISER)
    return any(piece is not None and piece.speaker in spoken for piece in message.pieces)


def _as_summary(message: Message) -> Message:
    """The same message as the summary of a compaction."""
    pieces = [_summary_piece(piece) for piece in message.pieces]
    return replace(message, pieces=pieces)


def _summary_piece(piece: Piece | None) -> Piece | None:
    if piece is None or piece.speaker is not Speaker.HUMAN:
        return piece
    return replace(piece, kind=Kind.SUMMARY, speaker=Speaker.SUMMARISER)
