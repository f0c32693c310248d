"""What holds for a turn beside its words: the session, the model, what was declared.

The one thing to know: `turn_context` declares the model, the personality and the
collaboration mode of all that follows it, until the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextecho.sessions.building.conversation import Message, Piece
from contextecho.sessions.building.fields import object_in, seconds, string
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.readers.codex.records import Block, Mode, Payload, Record


class Context:
    """The facts of a session, and those of the turn that is being read."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.cwd: str | None = None
        self.system: str | None = None
        self.is_sub_agent = False
        self.is_taken_back = False  # what is read now, by a later revert
        self.forked_from: str | None = None
        self._version: str | None = None
        self._parent: str | None = None
        self._model: str | None = None
        self._mode: str | None = None
        self._personality: str | None = None

    @property
    def parent(self) -> str | None:
        """The session whose sub-agent this is; a fork is a session of its own."""
        return self._parent if self.is_sub_agent else None

    def begin(self, meta: Payload) -> None:
        """Take in the session's own metadata."""
        self.id, self.cwd, self._version = meta.id or "", meta.cwd, meta.cli_version
        source = object_in(meta.source)
        self.is_sub_agent = is_sub_agents(meta)
        root = meta.session_id if meta.session_id != meta.id else None
        self._parent = _spawned_by(source) or meta.parent_thread_id or meta.forked_from_id or root
        self.forked_from = meta.forked_from_id
        self.system = _system(meta)

    def go_on(self, meta: Payload) -> None:
        """Take in the metadata of another file that the session goes through."""
        self._version = meta.cli_version or self._version

    def meet(self, meta: Payload) -> bool:
        """Take in metadata met later; whether they are this session's own, written again."""
        if meta.id == self.id:
            self.go_on(meta)
            return True
        self._parent = self._parent or meta.id
        return False

    def turn(self, declared: Payload) -> None:
        """Take in what a `turn_context` declares."""
        mode = declared.collaboration_mode
        self._model = declared.model or self._model
        self._mode = mode.mode if isinstance(mode, Mode) else mode
        self._personality = declared.personality
        self.cwd = self.cwd or declared.cwd
        self.system = self.system or _system(declared)

    def message(
        self, placed: Placed, pieces: Sequence[Piece | None], id: str | None = None
    ) -> Message:
        """A message said now."""
        record: Record = placed.value
        return Message(
            line=placed.line,
            span=placed.span,
            pieces=pieces,
            id=id,
            model=self._model,
            version=self._version,
            time=seconds(record.timestamp),
            mode=self._mode,
            personality=self._personality,
            abandoned=self.is_taken_back,
        )


def is_sub_agents(meta: Payload) -> bool:
    """Whether a file with these metadata is a sub-agent's, to whom no human speaks."""
    return "subagent" in object_in(meta.source) or meta.thread_source == "subagent"


def _spawned_by(source: dict[str, object]) -> str | None:
    """The session that a sub-agent's source names."""
    return string(source, "subagent", "thread_spawn", "parent_thread_id")


def _system(payload: Payload) -> str | None:
    """The system prompt: in the metadata, for some clients in `turn_context`."""
    base = payload.base_instructions
    return base.text if isinstance(base, Block) else base
