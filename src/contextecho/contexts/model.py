"""What a model is shown: messages, contexts, positions, snapshots, requests.

The one thing to know: a `Context` is immutable and shared by every cell forked
from it, and a `Request` is a context plus one question plus decoding. The
SHA-256 of its canonical JSON is the reply's key (design, section 4), so nothing
that changes an answer may live outside these types.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from contextecho.sessions import Conditions

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the assistant made, as it stands in the history."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool declared so that the history is valid; nobody may call it (tool choice `none`)."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message in a native role. A tool result has role `tool` and names its call."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    is_error: bool = False


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """How the answer is sampled. `None` means: the provider's own default, not sent."""

    max_output_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What stands before the question: system prompt, messages, declared tools."""

    system: str | None = None
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON; the identity of the prefix."""
        return hashlib.sha256(canonical_json(self)).hexdigest()

    @property
    def chars(self) -> int:
        """Characters a model reads: texts, call names and arguments (system prompt apart)."""
        return sum(
            len(m.text)
            + sum(len(c.name) + len(canonical_json(c.arguments).decode()) for c in m.tool_calls)
            for m in self.messages
        )


class Request(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One question put to one model on one fork.

    `ask` are the messages after the prefix (usually one user message);
    `sample` tells replicates apart that are otherwise the same request; `serving`
    says how the target is served, where its name alone does not; `schema` is the
    JSON Schema of the answer, sent where the provider holds a model to one.
    """

    target: str  # canonical id, "provider/model"
    context: Context
    ask: tuple[Message, ...]
    decoding: Decoding
    sample: int = 0
    serving: str = ""
    schema: Mapping[str, Any] | None = None

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical request: the reply key.

        The prefix enters by its own hash, so that a 30 kB context is hashed once
        for all the cells that share it. A schema enters as it is written: the order
        of its keys is the order in which the answer is given.
        """
        identity: dict[str, Any] = {
            "target": self.target,
            "context": self.context.sha256,
            "ask": self.ask,
            "decoding": self.decoding,
            "sample": self.sample,
            "serving": self.serving,
        }
        if self.schema is not None:
            identity["schema"] = msgspec.json.encode(self.schema).decode()
        return hashlib.sha256(canonical_json(identity)).hexdigest()


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """A point in a session at which it is forked: after everything up to `row_turn`.

    All three indices are kept, so that no report ever says just "turn".
    """

    label: str  # "P03_post_C1"; unique within a plan
    row_turn: int
    step: int
    prompt: int
    line: int  # last physical line that is part of the prefix
    segment: int  # compactions before it
    order: int  # rank within the plan, from 0
    conditions: Conditions | None = None  # under which the model last spoke; of a plan's positions


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The immutable prefix of a session at a position, rendered under a protocol."""

    session_id: str
    position: Position
    protocol: str
    rendering: str
    context: Context
    chars: int
    tokens: int
    counter: str  # which tokenizer counted `tokens`
    summary_kept: bool | None  # None: no compaction before this position
    dropped_turns: int  # turns of the segment that the budget cut from the front


def canonical_json(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8 (readers leave no lone surrogates)."""
    return msgspec.json.encode(value, order="sorted")
