"""One run, message by message: who spoke, and which observation answers which action.

The one thing to know: the file gives the task, observations and the client's own notices
the same role. The first message to the agent that is no demonstration, before it has
acted, is the task; what follows an action is its result; all else is the client's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Kind, Sidechain, Span, Speaker
from contextecho.sessions.readers.swe_agent.parts import entry_pieces
from contextecho.untrusted import make_visible

_CLIENTS_EXIT: Final = re.compile(r"Exit(ing)? due to \w")
_SUBMIT: Final = "submit"


class Reasoning(Struct):
    """The model's reasoning for an answer, where a step of the trajectory keeps it."""

    span: Span
    piece: Piece


class Run:
    """Takes in the messages of the agent that the run is about."""

    def __init__(
        self, conversation: Conversation, agent: str | None, model: str | None, version: str | None
    ) -> None:
        """`agent` is whose messages are the main thread's; `None` if there is only one."""
        self._conversation = conversation
        self._agent = agent
        self._model = model
        self._version = version
        self._asked = False  # the task has been given, or an answer shows that it was
        self._open: str | None = None  # the call that the next observation answers
        self._others: dict[str, int] = {}

    def told(
        self, message: dict[str, Any], line: int, span: Span, pieces: Sequence[Piece | None]
    ) -> None:
        """Take in a message that is no answer of the model's; its text is the last of `pieces`."""
        agent = message.get("agent")
        if message.get("is_demo"):
            self._said(line, span, pieces, Speaker.HARNESS)
        elif self._agent is not None and agent != self._agent:
            self._elsewhere(agent)
        elif message.get("role") == "system" and not self._conversation.turns:
            self._conversation.system += [piece.text for piece in pieces if piece is not None]
        elif self._open is None and message.get("role") != "tool":
            is_task = message.get("role") == "user" and not self._asked
            self._asked |= is_task
            self._said(line, span, pieces, Speaker.HUMAN if is_task else Speaker.HARNESS)
        else:
            ids = message.get("tool_call_ids")
            named = ids[0] if isinstance(ids, list) and ids else None
            self.observation(line, span, pieces, named if isinstance(named, str) else None)

    def answered(self, placed: Placed, reasoning: Reasoning | None, *, last: bool) -> None:
        """Take in an answer of the history, with the reasoning that only its step keeps."""
        line, id = placed.line, f"answer {placed.line}"
        pieces = entry_pieces(placed.value)
        if self._agent is not None and placed.value["agent"] != self._agent:
            self._elsewhere(placed.value["agent"])
            return
        if reasoning is not None and all(piece.kind is not Kind.THINKING for piece in pieces):
            self._say(line, reasoning.span, [reasoning.piece], id=id, model=self._model)
        self.answer(line, placed.span, pieces, last=last, id=id)

    def answer(
        self, line: int, span: Span, pieces: Sequence[Piece | None], *, last: bool, id: str
    ) -> None:
        """Take in what the model said and did, unless the client only says that it stopped."""
        said = [piece for piece in pieces if piece is not None]
        calls = [piece for piece in said if piece.kind is Kind.TOOL_CALL]
        self._asked = True
        self._open = None
        if _is_clients_exit(said, calls):
            self._conversation.tally.add("the client's notice that it stopped", line)
            return
        submits = any(_submits(call) for call in calls)
        for piece in said:
            if piece.kind is Kind.ASSISTANT:
                piece.final = last and submits
            elif piece.kind is Kind.TOOL_CALL:
                piece.call_id = piece.call_id or f"action {line}"
        if calls:
            self._open = calls[0].call_id
        self._say(line, span, pieces, id=id, model=self._model)

    def observation(
        self, line: int, span: Span, pieces: Sequence[Piece | None], call_id: str | None = None
    ) -> None:
        """Take in what came of the action before; after none it is the client's notice."""
        call_id = call_id or self._open
        self._open = None
        if call_id is None:
            self._said(line, span, pieces, Speaker.HARNESS)
            return
        for piece in pieces:
            if piece is not None:
                piece.kind, piece.speaker, piece.call_id = Kind.TOOL_RESULT, Speaker.TOOL, call_id
        self._say(line, span, pieces)

    def sidechains(self, path: Path) -> tuple[Sidechain, ...]:
        """The other agents whose messages the file holds."""
        return tuple(
            Sidechain(agent_id=make_visible(agent), path=path, records=records)
            for agent, records in self._others.items()
        )

    def _elsewhere(self, agent: Any) -> None:
        name = agent if isinstance(agent, str) else "unnamed"
        self._others[name] = self._others.get(name, 0) + 1

    def _said(
        self, line: int, span: Span, pieces: Sequence[Piece | None], speaker: Speaker
    ) -> None:
        """Say the texts as one speaker's; one without words is nothing said."""
        for piece in pieces:
            if piece is not None:
                piece.kind, piece.speaker = Kind.USER, speaker
        kept = [
            piece if piece and (piece.text.strip() or piece.images) else None for piece in pieces
        ]
        self._say(line, span, kept)

    def _say(
        self,
        line: int,
        span: Span,
        pieces: Sequence[Piece | None],
        *,
        id: str | None = None,
        model: str | None = None,
    ) -> None:
        self._conversation.say(
            Message(line=line, span=span, pieces=pieces, id=id, model=model, version=self._version)
        )


def _is_clients_exit(said: Sequence[Piece], calls: Sequence[Piece]) -> bool:
    """Whether this is the answer that the client puts where the model gave none."""
    texts = [piece.text for piece in said if piece.kind is Kind.ASSISTANT]
    acts = any('"exit_' not in call.text for call in calls)
    return bool(texts) and not acts and _CLIENTS_EXIT.match(texts[0]) is not None


def _submits(call: Piece) -> bool:
    return call.tool == _SUBMIT or call.text.startswith(f'{{"action": "{_SUBMIT}')
