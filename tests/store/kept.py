"""Replies to keep, and keeping them."""

from __future__ import annotations

from contextecho.contexts import Request
from contextecho.models import Answer, Reply, Usage
from contextecho.store import RunInfo, Store

VERSIONS = {"contextecho": "0.1.0"}
USAGE = Usage(input=100, cached=80, cache_write=0, output=7, reasoning=2)


def ask(store: Store, run: RunInfo, request: Request, reply: Reply) -> str:
    """Ask and answer; gives the key."""
    store.settle(store.open_attempt(run.id, request), reply)
    return request.key


def answer(text: str = "I have no preferences.") -> Answer:
    """An answer with everything that a provider says of one."""
    return Answer(text=text, stop_reason="stop", usage=USAGE, served_model="one-2026", seconds=0.25)
