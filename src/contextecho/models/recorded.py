"""Replays replies that were collected before, by request key. Asks nobody."""

from __future__ import annotations

from collections.abc import Callable

from contextecho.contexts import Request
from contextecho.models.model import Failed, FailureKind, Model, Reply

Lookup = Callable[[str], Reply | None]


class RecordedModel(Model):
    """A model that answers from a recording, such as a store's `reply`."""

    free = True
    max_concurrency: int | None = None
    notes: tuple[str, ...] = ("recorded: replies are replayed, nothing is asked",)

    def __init__(self, target: str, lookup: Lookup) -> None:
        """`lookup` returns the reply to a `Request.key`, or `None`."""
        self.id = target
        self._lookup = lookup

    async def answer(self, request: Request) -> Reply:
        """The recorded reply; a miss is a failure, never another model's answer."""
        reply = self._lookup(request.key)
        if reply is None:
            return Failed(kind=FailureKind.BAD_REQUEST, message="not in the recording")
        return reply

    async def close(self) -> None:
        """Nothing to release."""
