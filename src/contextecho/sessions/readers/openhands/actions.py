"""The rules of V0: who says a message, and what answers what.

The one thing to know: a call is known by its id in the model's answer, else by that of its
event, which the observation names as its cause; without ids the next observation answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.openhands import v0
from contextecho.sessions.readers.openhands.delegates import Delegates
from contextecho.sessions.readers.openhands.thread import (
    Thread,
    id_of,
    mark_asking_on,
    text_of_id,
)


class Actions:
    """Takes in actions and observations."""

    def __init__(self, thread: Thread, delegates: Delegates) -> None:
        self._thread = thread
        self._delegates = delegates
        self._begun = False  # a message has been said
        self._call_of: dict[str, str] = {}  # by the id of the action
        self._clients: set[str] = set()  # actions that no model took
        self._pending: str | None = None  # the last call, for events without ids

    def take(self, placed: Placed) -> None:
        """Take in one event."""
        event = placed.value
        name = event.get("action")
        if self._delegates.take(placed):
            return
        if not isinstance(name, str):
            self._observation(placed, event)
        elif name in v0.QUIET_ACTIONS:
            if name == "condensation_request":
                self._thread.trigger = "request"
            self._thread.count(placed, f"client's event: {name}")
        elif name == "system":
            self._system(placed, event["args"])
        elif name == "condensation":
            (summary,) = v0.pieces_of(event)
            self._thread.condense(placed, summary, self._forgotten(event["args"]))
        elif name == "message":
            self._message(placed, event)
        elif event.get("source") in ("agent", None):
            self._action(placed, event)
        else:
            self._clients_action(placed, event)

    def _forgotten(self, args: dict[str, Any]) -> Iterable[str]:
        """The events that a condensation forgets: those listed, or those of a range of ids."""
        listed = args.get("forgotten_event_ids")
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        if isinstance(listed, list):
            return (id for each in listed if (id := text_of_id(each)) is not None)
        if isinstance(first, int) and isinstance(last, int):
            return self._thread.numbered(first, last)
        return ()

    def _system(self, placed: Placed, args: dict[str, Any]) -> None:
        facts = self._thread.facts
        facts.version = string(args, "openhands_version") or facts.version
        facts.agent = string(args, "agent_class") or facts.agent
        self._thread.instruct(placed, v0.pieces_of(placed.value))

    def _message(self, placed: Placed, event: dict[str, Any]) -> None:
        """A message; without a source the first is the task and all others are the agent's."""
        (piece,) = v0.pieces_of(event)
        source = event.get("source") or ("agent" if self._begun else "user")
        if source == "user" or event.get("source") is None:
            piece.speaker = Speaker.HUMAN
            mark_asking_on(piece)
        if source == "agent" and piece.speaker is not Speaker.HARNESS:
            piece.kind, piece.speaker = Kind.ASSISTANT, Speaker.MODEL
        self._begun = True
        if piece.text.strip() or piece.images:
            self._thread.say(placed, [piece], id=v0.answer_id_of(event), model=v0.model_of(event))

    def _action(self, placed: Placed, event: dict[str, Any]) -> None:
        """What the model did, and the prose before it."""
        id = v0.answer_id_of(event)
        pieces: list[Piece | None] = [*v0.pieces_of(event)]
        for number, piece in enumerate(pieces):
            if piece is None:
                continue
            if piece.kind is Kind.TOOL_CALL:
                piece.call_id = piece.call_id or f"event {id_of(event) or placed.line}"
                self._pending = piece.call_id
                self._call_of[id_of(event) or ""] = piece.call_id
            elif event["action"] == "think" and self._thread.is_known(id):
                pieces[number] = None  # the answer's prose, said with its first action
        self._thread.say(placed, pieces, id=id, model=v0.model_of(event))
        if event["action"] == "delegate":
            self._delegates.begin(placed)

    def _clients_action(self, placed: Placed, event: dict[str, Any]) -> None:
        """What a person or the client did, with its arguments as text."""
        if (id := id_of(event)) is not None:
            self._clients.add(id)
        *rest, done = v0.pieces_of(event)
        done.kind, done.speaker = Kind.USER, Speaker.HARNESS
        self._thread.say(placed, [*[None for _ in rest], done])

    def _observation(self, placed: Placed, event: dict[str, Any]) -> None:
        """The result of a call; one that answers none is the client's notice."""
        name, cause = event["observation"], text_of_id(event.get("cause"))
        if name in v0.QUIET_OBSERVATIONS:
            self._thread.count(placed, f"client's event: {name}")
            return
        (piece,) = v0.pieces_of(event)
        if cause is not None:
            piece.call_id = piece.call_id or self._call_of.get(cause)
        if piece.call_id is None and "id" not in event:
            piece.call_id = self._pending
        if piece.call_id is None or cause in self._clients:
            piece.kind, piece.speaker = Kind.USER, Speaker.HARNESS
        self._pending = None
        metadata = event["extras"].get("metadata")
        self._thread.facts.cwd = self._thread.facts.cwd or string(metadata, "working_dir")
        if piece.kind is Kind.TOOL_RESULT or piece.text.strip():
            self._thread.say(placed, [piece])
