"""The messages of one OpenCode session, told in their order.

The one thing to know: several messages with a user's or the model's role are neither's.
A compaction is three of them (a user message that asks for it, the summary, and the
client's "Continue"); a request too large to answer is said again after the compaction,
word for word; a shell line behind `!` and a command that runs as a sub-task stand as
messages of the model that no model wrote, which lack the mark of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import filled, number_in, object_in, text_in, under
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import (
    CompactionKind,
    Kind,
    Session,
    Sidechain,
    Source,
    Speaker,
)
from contextecho.sessions.readers.opencode.pieces import (
    PARTS,
    Values,
    is_broken_off,
    is_message,
    is_summary,
    parts_of,
    pieces_of,
    steps_of,
)
from contextecho.untrusted import one_line

NAME: Final = "opencode"
_SHELL: Final = "The following tool was executed by the user"
_STAND_IN: Final = "[Attached "  # for a picture, where a request is said again


class Thread:
    """Takes the messages of a session in; `conversation` is its index, `children` the sub-agents.

    `info` is the session's own record.
    """

    def __init__(self, info: Values) -> None:
        self.conversation = Conversation()
        self.children: dict[str, str | None] = {}  # session of a sub-agent -> call that started it
        self._info = info
        self._version = filled(info, "version")
        self._line = 0
        self._measured: Values = {}  # the model's last message of which the tokens were counted
        self._turns_from: dict[str, int] = {}  # message -> its first turn
        self._request: tuple[int, Values] | None = None  # for a compaction: line and part
        self._words: tuple[str, ...] = ()  # of the human's last message
        self._said_again: tuple[str, ...] | None = None
        self._errand: str | None = None  # user message that the client answers by itself
        self._pruned: list[tuple[float, str]] = []  # (when, call) of results to be cleared
        self._reverted = False
        self._folder = ""  # as the first answer names it; old clients wrote it nowhere else

    def take(self, placed: Placed) -> None:
        """Take in the next message, or count what is none."""
        self._line = placed.line
        if not is_message(placed.value):
            self.conversation.tally.add("not a message", placed.line)
            return
        info, parts = placed.value["info"], parts_of(placed.value)
        id = text_in(info, "id")
        if id and id in self._turns_from:
            self._leave_out("repeated message")
            return
        self._clear_until(number_in(info, "time", "created"))
        self._count(info, parts)
        if info["role"] == "assistant":
            self._keep_system(info)
            self._folder = self._folder or text_in(info, "path", "cwd")
        self._turns_from[id] = len(self.conversation.turns)
        if is_summary(info):
            self._summarise(placed)
        elif info["role"] == "user":
            self._ask(placed, parts)
        else:
            self._answer(placed, parts)

    def session(
        self, path: Path, *, bytes: int, source: Source, sidechains: Sequence[Sidechain] = ()
    ) -> Session:
        """The indexed session, when all is told. Raises `SessionError` if no model speaks in it."""
        self._give_up_request()
        self._clear_until(None)
        facts = {
            "id": one_line(text_in(self._info, "id")),
            "cwd": text_in(self._info, "directory") or self._folder,
            "parent": text_in(self._info, "parentID"),
            "sidechains": tuple(sidechains),
        }
        told = {name: value for name, value in facts.items() if value}
        return self.conversation.session(path, format=NAME, bytes=bytes, source=source, **told)

    def _ask(self, placed: Placed, parts: Sequence[Values]) -> None:
        info, pieces = placed.value["info"], pieces_of(placed.value)
        request = next((part for part in parts if part.get("type") == "compaction"), None)
        if request is not None:
            self._give_up_request()
            self._request = (placed.line, request)
        words = tuple(piece.text for piece in pieces if piece.speaker is Speaker.HUMAN)
        texts = tuple(text for text in words if not text.startswith(_STAND_IN))
        again, self._said_again = self._said_again, None
        if text_in(self._info, "parentID") or (texts and texts == again):
            pieces = [replace(piece, speaker=Speaker.HARNESS) for piece in pieces]
        elif words:
            self._words = texts
        is_errand = any(part.get("type") == "subtask" for part in parts) or (
            [piece.text for piece in pieces] == [_SHELL]
        )
        self._errand = text_in(info, "id") if is_errand else None
        if request is None or pieces:
            self._say(placed, pieces, text_in(info, "agent"))

    def _answer(self, placed: Placed, parts: Sequence[Values]) -> None:
        info, pieces = placed.value["info"], pieces_of(placed.value)
        by_client = (
            self._errand is not None
            and text_in(info, "parentID") in ("", self._errand)
            and not any(part.get("type") == "step-start" for part in parts)
        )
        if by_client:
            pieces = [replace(piece, kind=Kind.USER, speaker=Speaker.HARNESS) for piece in pieces]
        elif under(info, "tokens", "output"):
            self._measured = info
        self._say(placed, pieces, text_in(info, "mode") or text_in(info, "agent"))
        self._pruned += [(when, call) for part in parts for when, call in _cleared(part)]
        for part in parts:
            child = text_in(part, "state", "metadata", "sessionId")
            if child and text_in(part, "tool") == "task":
                self.children[child] = filled(part, "callID")

    def _say(self, placed: Placed, pieces: list[Piece], mode: str) -> None:
        info = placed.value["info"]
        if not pieces:
            self.conversation.tally.add("empty message", placed.line)
        by_model = any(piece.speaker is Speaker.MODEL for piece in pieces)
        when = number_in(info, "time", "created")
        message = Message(
            line=placed.line,
            span=placed.span,
            pieces=pieces,
            id=filled(info, "id"),
            model=model_of(info) if by_model else None,
            version=self._version,
            time=None if when is None else when / 1000,
            mode=mode or None,
            abandoned=self._is_abandoned(info),
            broken_off=by_model and (is_broken_off(info) or _is_asked_again(info, pieces)),
        )
        for portion in _portions(message, placed.value) if by_model else [message]:
            self.conversation.say(portion)

    def _summarise(self, placed: Placed) -> None:
        """A compaction happened here, unless the call for its summary failed."""
        info, pieces = placed.value["info"], pieces_of(placed.value)
        if not pieces or is_broken_off(info):
            self._request = self._request or (placed.line, {})
            self._give_up_request()
            return
        # Later clients keep the request in the summary's own message.
        line, request = self._request or (placed.line, info)
        self._request = None
        auto = request.get("auto")
        trigger = {True: "auto", False: "manual"}.get(auto) if isinstance(auto, bool) else None
        self.conversation.compact(line, trigger=trigger, tokens_before=_tokens(self._measured))
        self._keep_tail(text_in(request, "tail_start_id"), placed.line)
        if any(part.get("type") == "reasoning" for part in parts_of(placed.value)):
            self.conversation.tally.add("thinking behind a summary", placed.line)
        self._say(placed, pieces, "")
        self._said_again = self._words if request.get("overflow") is True else None

    def _keep_tail(self, first: str, line: int) -> None:
        """The messages that the client left as they were behind the summary."""
        if not first:
            return
        if first not in self._turns_from:
            self.conversation.tally.add("kept message not in the file", line)
            return
        kept = range(self._turns_from[first], len(self.conversation.turns))
        turns = self.conversation.turns
        self.conversation.keep(n for n in kept if turns[n].kind is not Kind.SUMMARY)

    def _give_up_request(self) -> None:
        """A compaction that was asked for gave no summary."""
        if self._request is not None:
            self.conversation.tally.add("compaction that failed", self._request[0])
        self._request = None

    def _clear_until(self, when: float | None) -> None:
        """Results that the client cleared before this time are out of the context from here on."""
        cleared = tuple(call for time, call in self._pruned if when is None or time <= when)
        if cleared:
            self._pruned = [p for p in self._pruned if when is not None and p[0] > when]
            self.conversation.compact(self._line, kind=CompactionKind.MICRO, cleared=cleared)

    def _is_abandoned(self, info: Values) -> bool:
        """Whether the human took this message back; of one taken back in part, this is counted."""
        if not self._reverted:
            point = object_in(self._info, "revert")
            self._reverted = text_in(point, "messageID") == text_in(info, "id") != ""
            if self._reverted and text_in(point, "partID"):
                self.conversation.tally.add("message reverted in part", self._line)
                return False
        return self._reverted

    def _keep_system(self, info: Values) -> None:
        """Old clients wrote the system prompt into each answer; the first is kept."""
        found = info.get("system")
        texts = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        texts = [text for text in texts if isinstance(text, str) and text.strip()]
        if texts and not self.conversation.system:
            self.conversation.system += texts
        elif texts and texts != self.conversation.system:
            self.conversation.tally.add("another system prompt", self._line)

    def _count(self, info: Values, parts: Sequence[Values]) -> None:
        """Count what is left out of this message."""
        if info["role"] == "user" and text_in(info, "system").strip():
            self._leave_out("addition to the system prompt")
        for part in parts:
            kind = text_in(part, "type")
            if kind not in PARTS:
                self._leave_out(f"unknown part type: {one_line(kind)}")
            elif kind == "retry":
                self._leave_out("request that failed and was sent again")
            elif kind == "text" and info["role"] == "assistant" and part.get("synthetic"):
                self._leave_out("synthetic assistant text")
            elif kind == "text" and info["role"] == "user" and part.get("ignored"):
                self._leave_out("text that the model was not shown")

    def _leave_out(self, reason: str) -> None:
        self.conversation.tally.add(reason, self._line)


def _portions(message: Message, value: Values) -> Iterator[Message]:
    """What is said at once in a message with the model's role.

    The first clients kept all steps of a turn in one message, and what the human said in a
    result (an answer, a reason) stands between those of the model.
    """
    pieces = [piece for piece in message.pieces if piece is not None]
    marks = sum(part.get("type") == "step-start" for part in parts_of(value))
    if marks < 2 and not any(piece.quoted for piece in pieces):
        yield message
        return
    steps = steps_of(value)
    keys = ((steps[n], pieces[n].quoted) for n in range(len(pieces)))
    first = 0
    for (step, quoted), group in groupby(keys):
        end = first + len(list(group))
        yield replace(
            message,
            pieces=pieces[first:end],
            first=first,
            id=f"{message.id or message.line}/{step}",
            broken_off=message.broken_off and end == len(pieces) and not quoted,
        )
        first = end


def _is_asked_again(info: Values, pieces: Sequence[Piece]) -> bool:
    """Whether this stream ended without a reason, whereupon the client asks the model again."""
    calls = any(piece.kind is Kind.TOOL_CALL for piece in pieces)
    return text_in(info, "finish") == "unknown" and not calls


def _tokens(info: Values) -> int | None:
    """What the client takes for the size of the context: all tokens of the request and answer."""
    keys = (("total",), ("input",), ("output",), ("cache", "read"), ("cache", "write"))
    total, *others = (number_in(info, "tokens", *key) or 0 for key in keys)
    return int(total or sum(others)) or None


def sidechain_of(
    id: str, path: Path, infos: Sequence[Values], *, call_id: str | None = None
) -> Sidechain:
    """A sub-agent, from the `info` of each of its messages."""
    answers = [info for info in infos if info.get("role") == "assistant"]
    agents = (filled(info, "mode") or filled(info, "agent") for info in answers)
    return Sidechain(
        agent_id=id,
        path=path,
        records=len(infos),
        models=tuple(dict.fromkeys(filter(None, map(model_of, answers)))),
        call_id=call_id,
        kind=next(agents, None),
    )


def model_of(info: Values) -> str | None:
    """The model as the client names it, `provider/model`."""
    named = info if text_in(info, "modelID") else object_in(info, "model")
    return "/".join(filter(None, (text_in(named, "providerID"), text_in(named, "modelID")))) or None


def _cleared(part: Values) -> list[tuple[float, str]]:
    """When the client cleared the result of this tool, if it did."""
    when = number_in(part, "state", "time", "compacted")
    call = text_in(part, "callID")
    return [] if when is None or not call else [(when, call)]
