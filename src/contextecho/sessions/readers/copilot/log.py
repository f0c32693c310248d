"""Following the log of Copilot CLI: who speaks with which model, in which mode.

The one thing to know: a sub-agent's events stand among the others and are told by
`agentId`, in older clients by `parentToolCallId`; they are counted and kept out. The
model and the mode are events of their own, and hold for what comes after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import filled, instant, integer_in, list_in
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import CompactionKind, Kind, Sidechain
from contextecho.sessions.readers.copilot.events import pieces
from contextecho.sessions.readers.copilot.vocabulary import KNOWN


class Log:
    """Takes events in, in the order of the file, and says them into a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.session_id: str | None = None
        self.cwd: str | None = None
        self._met: set[str] = set()  # ids of events
        self._conversation = conversation
        self._tally = conversation.tally
        self._version: str | None = None
        self._model: str | None = None
        self._mode: str | None = None
        self._agent: str | None = None  # a custom agent that the human selected
        self._trigger: str | None = None  # of the compaction that is under way
        self._held: list[Message] = []  # the model's last message: an abort may follow
        self._thoughts: list[Placed] = []  # of a message that is still to come
        self._reasoning: str | None = None  # of the last message
        self._requested: set[str] = set()
        self._tools: dict[str, str] = {}  # by id of the call
        self._chains: dict[str, str] = {}  # the sub-agent that a call started
        self._theirs: dict[str, str] = {}  # the sub-agent that asked for a call
        self._records: dict[str, int] = {}  # by sub-agent
        self._models: dict[str, dict[str, None]] = {}

    def add(self, placed: Placed) -> None:
        """Take in one event."""
        event, kind = placed.value, placed.value.get("type")
        data = event.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            self._tally.add("record without type or data", placed.line)
            return
        if (id := filled(event, "id")) in self._met:
            self._tally.add("repeated event", placed.line)
            return
        if id is not None:
            self._met.add(id)
        if kind.startswith("subagent.") and kind in KNOWN:
            self._note_agent(placed, kind, data)
            return
        chain = self._chain_of(event, data)
        if chain is not None:
            self._count(chain, data)
            self._tally.add("sub-agent record", placed.line)
            return
        self._learn(kind, data)
        self._take(placed, kind, data)

    def settle(self) -> None:
        """Say what was held back for what might follow it: something else did, or nothing."""
        self._release()
        self._say_thoughts(None)

    def sidechains(self, path: Path) -> Iterator[Sidechain]:
        """The sub-agents whose events are in the log."""
        for chain, records in self._records.items():
            models = tuple(self._models[chain])
            yield Sidechain(agent_id=chain, path=path, records=records, models=models)

    def _take(self, placed: Placed, kind: str, data: dict[str, Any]) -> None:
        if kind == "assistant.message":
            self._answer(placed, data)
        elif kind == "assistant.reasoning":
            self._think(placed, data)
        elif kind == "abort":
            self._release(broken_off=True)
            self._tally.add("abort", placed.line)
        elif kind == "system.message":
            self._instruct(placed, data)
        elif kind in ("session.compaction_complete", "session.context_cleared"):
            self._compact(placed, kind, data)
        elif kind == "tool.execution_complete":
            self._result(placed, data)
        elif found := pieces(placed.value):
            self.settle()
            self._conversation.say(self._message(placed, found))
        else:
            self._leave_out(placed, kind, data)

    def _learn(self, kind: str, data: dict[str, Any]) -> None:
        """What holds from here on."""
        if kind in ("session.start", "session.resume"):
            self.session_id = self.session_id or filled(data, "sessionId")
            self.cwd = self.cwd or filled(data, "context", "cwd")
            self._version = filled(data, "copilotVersion") or self._version
            self._model = filled(data, "selectedModel") or self._model
        elif kind == "session.model_change":
            self._model = filled(data, "newModel") or self._model
        elif kind == "session.mode_changed":
            self._mode = filled(data, "newMode") or self._mode
        elif kind == "user.message" and data.get("agentMode") != "shell":
            self._mode = filled(data, "agentMode") or self._mode
        elif kind == "session.compaction_start":
            self._trigger = filled(data, "trigger")
        elif kind == "tool.execution_start":
            call_id, tool = filled(data, "toolCallId"), filled(data, "toolName")
            if call_id and tool:
                self._tools[call_id] = tool

    def _answer(self, placed: Placed, data: dict[str, Any]) -> None:
        """A message of the model; its parts, split where it thinks, are one message."""
        self._release()
        self._reasoning = filled(data, "reasoningText")
        found = pieces(placed.value)
        self._requested.update(piece.call_id for piece in found if piece.call_id is not None)
        id = filled(data, "apiCallId") or filled(data, "messageId")
        self._say_thoughts(id)
        self._held = [self._message(placed, found, id=id, model=filled(data, "model"))]

    def _think(self, placed: Placed, data: dict[str, Any]) -> None:
        """Thoughts told apart from their message, before it or after it."""
        if not pieces(placed.value):
            self._leave_out(placed, "assistant.reasoning", data)
        elif filled(data, "content") == self._reasoning:
            self._tally.add("repeated reasoning", placed.line)
        else:
            self._thoughts.append(placed)

    def _say_thoughts(self, id: str | None) -> None:
        """Say the thoughts that came before a message, unless it carries them itself."""
        for placed in self._thoughts:
            if filled(placed.value, "data", "content") == self._reasoning:
                self._tally.add("repeated reasoning", placed.line)
            else:
                found = pieces(placed.value)
                self._conversation.say(self._message(placed, found, id=id, broken_off=id is None))
        self._thoughts.clear()

    def _release(self, *, broken_off: bool = False) -> None:
        """Say the model's last message; one with calls is whole, whatever came after it."""
        for message in self._held:
            calls = any(piece and piece.kind is Kind.TOOL_CALL for piece in message.pieces)
            message.broken_off = broken_off and not calls
            self._conversation.say(message)
        self._held = []

    def _instruct(self, placed: Placed, data: dict[str, Any]) -> None:
        """The system prompt, which is written again with every prompt."""
        text = filled(data, "content")
        if text is None or text in self._conversation.system:
            self._tally.add("repeated system prompt", placed.line)
        elif not self._conversation.system:
            self._conversation.system.append(text)
        else:
            self._tally.add("changed system prompt", placed.line)

    def _compact(self, placed: Placed, kind: str, data: dict[str, Any]) -> None:
        self.settle()
        if kind == "session.context_cleared":
            self._conversation.compact(placed.line, trigger="context_cleared")
        elif data.get("success") is False:
            self._tally.add("failed compaction", placed.line)
            return
        else:
            self._conversation.compact(
                placed.line,
                kind=CompactionKind.FULL,
                trigger=filled(data, "trigger") or self._trigger,
                tokens_before=integer_in(data, "preCompactionTokens"),
                tokens_after=integer_in(data, "postCompactionTokens"),
            )
        self._trigger = None
        self._conversation.say(self._message(placed, pieces(placed.value)))

    def _result(self, placed: Placed, data: dict[str, Any]) -> None:
        self.settle()
        call_id = filled(data, "toolCallId") or ""
        tool = self._tools.pop(call_id, None)
        if call_id not in self._requested and data.get("isUserRequested") is not True:
            self._tally.add("tool result without a request", placed.line)
        found = [replace(piece, tool=piece.tool or tool) for piece in pieces(placed.value)]
        self._conversation.say(self._message(placed, found))

    def _leave_out(self, placed: Placed, kind: str, data: dict[str, Any]) -> None:
        if kind == "assistant.turn_start":
            self._release()
        if kind == "session.truncation":
            self._tally.add("context truncated", placed.line)
        elif kind == "session.snapshot_rewind":
            self._tally.add("rewind, of which the log does not keep what it removed", placed.line)
        elif kind in KNOWN:
            self._tally.add(f"{kind.partition('.')[0]} event", placed.line)
        else:
            self._tally.add(f"unknown record type: {kind}", placed.line)

    def _message(
        self,
        placed: Placed,
        found: Sequence[Piece],
        *,
        id: str | None = None,
        model: str | None = None,
        broken_off: bool = False,
    ) -> Message:
        return Message(
            line=placed.line,
            span=placed.span,
            pieces=found,
            id=id,
            model=model or self._model,
            version=self._version,
            time=instant(placed.value.get("timestamp")),
            mode=self._agent or self._mode,
            broken_off=broken_off,
        )

    def _note_agent(self, placed: Placed, kind: str, data: dict[str, Any]) -> None:
        """A sub-agent starts or ends, or the human selects an agent to speak with."""
        self._tally.add("subagent event", placed.line)
        if kind == "subagent.selected":
            self._agent = filled(data, "agentName")
        elif kind == "subagent.deselected":
            self._agent = None
        elif kind == "subagent.started":
            call_id = filled(data, "toolCallId")
            chain = filled(placed.value, "agentId") or call_id
            if chain is not None:
                self._records.setdefault(chain, 0)
                self._models.setdefault(chain, {})
                if call_id is not None:
                    self._chains[call_id] = chain

    def _chain_of(self, event: dict[str, Any], data: dict[str, Any]) -> str | None:
        """The sub-agent that an event is of; None in the main thread.

        A result may bear neither mark: it belongs where its call was asked for.
        """
        started_by = filled(data, "parentToolCallId")
        if named := filled(event, "agentId") or self._chains.get(started_by or "", started_by):
            return named
        return self._theirs.get(filled(data, "toolCallId") or "")

    def _count(self, chain: str, data: dict[str, Any]) -> None:
        for call in (data, *list_in(data, "toolRequests")):
            call_id = filled(call, "toolCallId")
            if call_id is not None and call_id not in self._requested:
                self._theirs[call_id] = chain
        self._records[chain] = self._records.get(chain, 0) + 1
        models = self._models.setdefault(chain, {})
        if model := filled(data, "model"):
            models[model] = None
