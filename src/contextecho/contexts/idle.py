"""Idle turns: exchanges after the anchor that do not touch what is measured.

The one thing to know: how long an anchor lasts depends on what is said after it, and
short answers are themselves examples of short answers. So there are two kinds in
`data/idle.yaml`, and a study of persistence asks with both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import cycle, islice

import msgspec

from contextecho.bundled import read_bundled
from contextecho.contexts.model import Message
from contextecho.errors import UsageError


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """Some exchanges of one kind, each a user's message and the assistant's answer."""

    kind: str
    turns: int
    messages: tuple[Message, ...]


class _Idle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    version: str
    licence: str
    source: str
    kinds: Mapping[str, tuple[tuple[str, str], ...]]


def load_idle(kind: str, turns: int) -> Idle:
    """The first `turns` exchanges of a kind, from the beginning again where it has fewer.

    Raises `UsageError` for a kind that does not exist and for fewer than no turns.
    """
    if kind not in _kinds():
        raise UsageError(
            f'there are no idle turns of kind "{kind}"', todo=f"use {' or '.join(_kinds())}"
        )
    if turns < 0:
        raise UsageError(f"{turns} idle turns cannot be", todo="use 0 or more")
    messages = tuple(
        message
        for asked, answered in islice(cycle(_kinds()[kind]), turns)
        for message in (
            Message(role="user", text=asked),
            Message(role="assistant", text=answered),
        )
    )
    return Idle(kind=kind, turns=turns, messages=messages)


def idle_kinds() -> tuple[str, ...]:
    """The kinds of idle turns, in the data file's order."""
    return tuple(_kinds())


@cache
def _kinds() -> Mapping[str, tuple[tuple[str, str], ...]]:
    return read_bundled("contexts", "idle", _Idle).kinds
