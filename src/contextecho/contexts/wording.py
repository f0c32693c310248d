"""The words a rendering adds, and the protocols and anchors, read from their data files.

The one thing to know: nothing here is text; `data/wording.yaml`,
`data/protocols.yaml` and `data/anchors.yaml` are, each hashed when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

import msgspec

from contextecho.bundled import read_bundled
from contextecho.contexts.model import Message, Role
from contextecho.contexts.protocol import Protocol
from contextecho.errors import UsageError


class ControlTool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The neutral names that tools and their parameters have in the control arm."""

    name: str
    parameter: str


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Marks and headers that `strict` renderings use."""

    id: str
    version: str
    licence: str
    source: str
    opening: str  # the first user message, where the history does not begin with one
    cut: str  # in the middle of a shortened text; {chars} is what is missing
    no_output: str  # a tool result without text
    tool: str  # description of every declared tool
    control_tool: ControlTool
    call: str  # a call as text: {name}, {arguments}
    result: str  # head of a result as text: {name}
    headers: Mapping[Role, str]  # in a quoted transcript


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe that is put between the prefix and the question."""

    id: str
    title: str
    messages: tuple[Message, ...]  # user, assistant, ...: placement "user"
    system: str  # what is appended to the system prompt: placement "system"
    sha256: str  # of the data file


class _Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    title: str
    messages: tuple[dict[Literal["user", "assistant"], str], ...]
    system: str


class _Anchors(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    version: str
    licence: str
    source: str
    sha256: str
    recipes: tuple[_Recipe, ...]


class _Protocols(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    version: str
    licence: str
    source: str
    protocols: tuple[Protocol, ...]


@cache
def wording() -> Wording:
    """The bundled wording."""
    return read_bundled("contexts", "wording", Wording)


def load_anchor(id: str) -> Anchor:
    """An anchor recipe by its id. Raises UsageError naming the known ones."""
    if id not in _anchors():
        raise UsageError(f'there is no anchor "{id}"', todo=f"use one of {', '.join(anchor_ids())}")
    return _anchors()[id]


def anchor_ids() -> tuple[str, ...]:
    """Ids of the anchor recipes, in the data file's order."""
    return tuple(_anchors())


def load_protocol(id: str) -> Protocol:
    """A protocol by its id. Raises UsageError naming the known ones."""
    if id not in _protocols():
        known = ", ".join(protocol_ids())
        raise UsageError(f'there is no protocol "{id}"', todo=f"use one of {known}")
    return _protocols()[id]


def protocol_ids() -> tuple[str, ...]:
    """Ids of the protocols, the default first."""
    return tuple(_protocols())


@cache
def _anchors() -> dict[str, Anchor]:
    content = read_bundled("contexts", "anchors", _Anchors)
    return {
        recipe.id: Anchor(
            id=recipe.id,
            title=recipe.title,
            messages=tuple(
                Message(role=role, text=text)
                for message in recipe.messages
                for role, text in message.items()
            ),
            system=recipe.system,
            sha256=content.sha256,
        )
        for recipe in content.recipes
    }


@cache
def _protocols() -> dict[str, Protocol]:
    content = read_bundled("contexts", "protocols", _Protocols)
    return {protocol.id: protocol for protocol in content.protocols}
