"""A protocol: every choice, besides the study's own axes, that can change a number.

`strict` is the default; `published` re-creates the first paper's reference run
(design, section 3). A protocol is one frozen value, stored with each reply and
hashed into each key, read from `data/protocols.yaml`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from contextecho.contexts.model import Decoding
from contextecho.errors import UsageError

CONTROL_TOLERANCE = 0.02
"""Control tokens over session tokens may differ from 1 by this (design, section 3)."""


class Rendering(StrEnum):
    """How a session becomes messages."""

    NATIVE = "native"  # tool calls and results in the wire format's own messages
    NATIVE_TEXT = "native-text"  # native roles, tool traffic as text
    QUOTED = "quoted"  # the published way: a transcript inside one user message


class ControlKind(StrEnum):
    """What fills the control arm."""

    PROSE = "prose"  # neutral prose, matched message by message in role and length
    FILLER = "filler"  # one block of repeated filler, cut to the prefix's characters


class History(StrEnum):
    """How much of the session a compaction leaves in view."""

    SEGMENT = "segment"  # as the client had it: the summary, and what followed it
    NO_SUMMARY = "no-summary"  # only what followed it
    WHOLE = "whole"  # all since the beginning, as if nothing had been compacted


class Unit(StrEnum):
    """What a budget counts."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


class Arm(StrEnum):
    """How a context is made from a snapshot."""

    SCRATCH = "scratch"
    CONTROL = "control"
    SESSION = "session"
    SESSION_ANCHOR = "session+anchor"
    CONTROL_ANCHOR = "control+anchor"
    FOREIGN = "foreign"  # another session, as far into it

    @property
    def anchored(self) -> bool:
        """Whether an anchor stands between the prefix and the question."""
        return self in (Arm.SESSION_ANCHOR, Arm.CONTROL_ANCHOR)


class Placement(StrEnum):
    """Where an anchor stands."""

    USER = "user"  # turns of its own after the prefix
    SYSTEM = "system"  # the end of the system prompt


def parse_arm(text: str) -> Arm:
    """The arm of that name. Raises UsageError naming all of them."""
    if text not in tuple(Arm):
        raise UsageError(f'there is no arm "{text}"', todo=f"use {', '.join(Arm)}")
    return Arm(text)


def parse_rendering(text: str) -> Rendering:
    """The rendering of that name. Raises UsageError naming all of them."""
    if text not in tuple(Rendering):
        raise UsageError(f'there is no rendering "{text}"', todo=f"use {', '.join(Rendering)}")
    return Rendering(text)


def parse_placement(text: str) -> Placement:
    """The placement of that name. Raises UsageError naming all of them."""
    if text not in tuple(Placement):
        raise UsageError(
            f'there is no anchor placement "{text}"', todo=f"use {', '.join(Placement)}"
        )
    return Placement(text)


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """One frozen way of running the experiment."""

    id: str
    version: str
    rendering: Rendering
    budget: int
    budget_unit: Unit
    control: ControlKind
    system: str  # the system prompt's text, the same in all arms of a contrast
    acknowledgement: str  # assistant turn after a quoted prefix; "" for native renderings
    decoding: Decoding
    paraphrases: int
    rubric: str  # id of the rubric file
