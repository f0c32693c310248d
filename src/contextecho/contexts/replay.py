"""A session's turns as native messages: assistant, tool results, user text.

The one thing to know: the unit is the block, an assistant message together with
the results of its calls, or one user text. A block is valid by construction:
every call in it is answered and every result follows its call, so whoever cuts
between blocks cannot break the history.

What the model was shown is replayed: text by the human and by the harness
(command output, notifications, interrupts, skill bodies), assistant text, calls
and results. Thinking is left out; so are results without a call, calls whose
result lies after the fork, human words that the result before them carries too,
and branches that a rewind left behind. Of a result that the client cleared before
the fork, its mark is shown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

import msgspec

from contextecho.contexts.model import Message, Position, ToolCall
from contextecho.contexts.protocol import History
from contextecho.contexts.wording import wording
from contextecho.sessions import Compaction, CompactionKind, Content, Kind, Session, Turn

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_TOOL_NAME_CHARS = 64


class Block(msgspec.Struct, frozen=True):
    """Messages that stand or fall together; `first` is the index of their first turn."""

    first: int
    messages: tuple[Message, ...]


@dataclass
class _Draft:
    """A block being put together."""

    first: int
    assistant: bool
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, Message] = field(default_factory=dict)

    def block(self) -> Block:
        text = "\n\n".join(text for text in self.texts if text.strip())
        if not self.assistant:
            return Block(self.first, (Message(role="user", text=text),) if text else ())
        calls = tuple(call for call in self.calls if call.id in self.results)
        if not text and not calls:
            return Block(self.first, ())
        spoken = Message(role="assistant", text=text, tool_calls=calls)
        return Block(self.first, (spoken, *(self.results[call.id] for call in calls)))


def turns_in_view(
    session: Session, position: Position, history: History = History.SEGMENT
) -> tuple[Turn, ...]:
    """The turns a model has before it at `position`, without thinking and summaries.

    They begin at the last compaction, with the turns that it kept verbatim, or with the
    session where its whole history is wanted. A
    turn of an abandoned branch is left out once the conversation has gone on elsewhere; a fork
    inside such a branch still sees it.
    """
    opened = None if history is History.WHOLE else last_compaction(session, position)
    begin = bisect_right(session.turns, opened.line, key=_line) if opened else 0
    end = bisect_right(session.turns, position.line, key=_line)
    summary = summary_turn(session, position)
    kept = [session.turns[index] for index in opened.kept] if opened else []
    shown = [
        turn
        for turn in (*kept, *session.turns[begin:end])
        if turn.kind is not Kind.THINKING and not turn.quoted and turn is not summary
        if history is not History.WHOLE or turn.kind is not Kind.SUMMARY
    ]
    live = max((i for i, turn in enumerate(shown) if not turn.abandoned), default=-1)
    return tuple(turn for i, turn in enumerate(shown) if i > live or not turn.abandoned)


def last_compaction(session: Session, position: Position) -> Compaction | None:
    """What replaced the conversation by a summary before `position`, in this file or before it."""
    before = [
        compaction
        for compaction in session.compactions
        if compaction.line <= position.line and compaction.kind is not CompactionKind.MICRO
    ]
    return before[-1] if before else None


def summary_turn(session: Session, position: Position) -> Turn | None:
    """The summary that the conversation at `position` goes on from, where the file holds it."""
    opened = last_compaction(session, position)
    return session.turns[opened.summary] if opened and opened.summary is not None else None


def cleared_results(session: Session, position: Position) -> frozenset[str]:
    """The call ids of the tool results that the client cleared before `position`."""
    return frozenset(
        call_id
        for compaction in session.compactions
        if compaction.line <= position.line
        for call_id in compaction.cleared
    )


def replay(
    turns: Sequence[Turn],
    contents: Iterable[Content],
    *,
    first: int = 0,
    cleared: Set[str | None] = frozenset(),
) -> tuple[Block, ...]:
    """Turns with their contents as blocks, empty ones left out.

    Records of one assistant message are joined even where results or human text
    stand between them in the file; such text then follows the results. Call ids
    are numbered anew, nine letters and digits, so that every wire format takes
    them. `first` is the index of `turns[0]`, `cleared` the call ids of results of which
    only the client's mark is left.
    """
    drafts: list[_Draft] = []
    speaking: dict[int, _Draft] = {}
    open_calls: dict[str | None, tuple[_Draft, ToolCall]] = {}
    for index, (turn, content) in enumerate(zip(turns, contents, strict=True), start=first):
        if turn.kind is Kind.TOOL_RESULT:
            asked = open_calls.pop(turn.call_id, None)
            if asked:
                owner, call = asked
                text = wording().cleared if turn.call_id in cleared else content.text
                owner.results[call.id] = Message(
                    role="tool",
                    text=text if text.strip() else wording().no_output,
                    call_id=call.id,
                    is_error=turn.is_error,
                )
            continue
        assistant = turn.kind in (Kind.ASSISTANT, Kind.TOOL_CALL)
        if assistant and turn.message in speaking:
            draft = speaking[turn.message]
        else:
            draft = _Draft(first=index, assistant=assistant)
            drafts.append(draft)
        if assistant:
            speaking[turn.message] = draft
        if turn.kind is Kind.TOOL_CALL:
            call = ToolCall(
                id=f"call{index:05d}",
                name=_NOT_IN_TOOL_NAMES.sub("_", turn.tool or "tool")[:_TOOL_NAME_CHARS],
                arguments=content.arguments or {},
            )
            draft.calls.append(call)
            open_calls[turn.call_id] = (draft, call)
        else:
            draft.texts.append(content.text)
    return tuple(block for block in (draft.block() for draft in drafts) if block.messages)


def _line(turn: Turn) -> int:
    return turn.line
