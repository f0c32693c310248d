"""The words a rendering adds, and the protocols, read from their data files.

The one thing to know: nothing here is text; `data/wording.yaml` and
`data/protocols.yaml` are, each hashed when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from contextecho.bundled import read_bundled
from contextecho.contexts.model import Role
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
    cleared: str  # a tool result that the client cleared from the context
    tool: str  # description of every declared tool
    control_tool: ControlTool
    call: str  # a call as text: {name}, {arguments}
    result: str  # head of a result as text: {name}
    headers: Mapping[Role, str]  # in a quoted transcript


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
def _protocols() -> dict[str, Protocol]:
    content = read_bundled("contexts", "protocols", _Protocols)
    return {protocol.id: protocol for protocol in content.protocols}
