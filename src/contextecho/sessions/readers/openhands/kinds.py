"""The rules of V1: what each kind of event does to the conversation.

The one thing to know: no event of the model names the model; the client's state does,
which is in `base_state.json` and in the state updates of an exported stream.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Kind
from contextecho.sessions.readers.openhands import v1
from contextecho.sessions.readers.openhands.thread import Facts, Thread, mark_asking_on

_SAID: Final = frozenset(
    {"ActionEvent", "AgentErrorEvent", "MessageEvent", "ObservationEvent", "UserRejectObservation"}
)


class Kinds:
    """Takes in events of every kind."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._call_of: dict[str, str] = {}  # by the id of the action's event
        self._summary = ""  # of the last condensation

    def take(self, placed: Placed) -> None:
        """Take in one event."""
        event, kind = placed.value, placed.value["kind"]
        if kind in _SAID:
            self._say(placed, event)
        elif kind == "SystemPromptEvent":
            self._thread.instruct(placed, v1.pieces_of(event))
        elif kind in ("Condensation", "CondensationSummaryEvent"):
            self._condense(placed, event)
        elif kind in v1.QUIET:
            self._heed(event)
            self._thread.count(placed, f"client's event: {kind}")
        else:
            self._thread.count(placed, f"unknown record type: {kind}")

    def _say(self, placed: Placed, event: dict[str, Any]) -> None:
        pieces: list[Piece | None] = [*v1.pieces_of(event)]
        if event["kind"] == "ObservationEvent" and string(event, "tool_name") == v1.FINISH:
            pieces[0] = None
            self._thread.count(placed, "result of a finish, which repeats the final message")
        for piece in pieces:
            if piece is None:
                continue
            mark_asking_on(piece)
            if piece.kind is Kind.TOOL_CALL:
                piece.call_id = piece.call_id or f"event {event['id']}"
                self._call_of[event["id"]] = piece.call_id
            elif piece.kind is Kind.TOOL_RESULT:
                action = string(event, "action_id") or ""
                piece.call_id = piece.call_id or self._call_of.get(action)
        self._thread.say(placed, pieces, id=string(event, "llm_response_id"))

    def _condense(self, placed: Placed, event: dict[str, Any]) -> None:
        (summary,) = v1.pieces_of(event)
        if event["kind"] == "CondensationSummaryEvent" and summary.text == self._summary:
            self._thread.count(placed, "summary of the condensation before, again")
            return
        self._summary = summary.text
        found = event.get("forgotten_event_ids")
        forgotten = (id for id in (found if isinstance(found, list) else ()) if isinstance(id, str))
        self._thread.condense(placed, summary, forgotten)

    def _heed(self, event: dict[str, Any]) -> None:
        """What a quiet event says about those to come."""
        if event["kind"] == "CondensationRequest":
            self._thread.trigger = string(event, "reason") or "request"
        elif event["kind"] == "ConversationStateUpdateEvent":
            value = event.get("value")
            state = {"agent": value} if event.get("key") == "agent" else value
            learn_state(self._thread.facts, state)


def learn_state(facts: Facts, state: Any) -> None:
    """Take from a conversation's state what it says about model and folder."""
    facts.model = string(state, "agent", "llm", "model") or facts.model
    facts.agent = string(state, "agent", "kind") or facts.agent
    facts.cwd = facts.cwd or string(state, "workspace", "working_dir")
    facts.id = facts.id or string(state, "id")
    facts.leaf = string(state, "leaf_event_id") or facts.leaf
