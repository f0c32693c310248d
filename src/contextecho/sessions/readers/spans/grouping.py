"""Which calls of a model belong together, and which of them are a sub-agent's.

The one thing to know: a trace is of the conversation that any of its spans names. The
main thread is made of the calls that stand below the fewest agents and tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from contextecho.sessions.readers.spans.nodes import Node

_OWNERS: Final = ("agent", "tool")
_Key = tuple[str, str]  # of a span: its trace and its id


class Group(Struct, gc=False):
    """The spans of one conversation, in the order of time."""

    id: str  # as the spans name it, or the trace's
    calls: list[Node]  # of the main thread
    others: list[Node]  # no calls of a model
    below: dict[str, list[Node]]  # calls of sub-agents, by the agent's name


def grouped(nodes: Sequence[Node]) -> list[Group]:
    """The conversations in which a model was called, in the order in which they are met."""
    talks: dict[str, str] = {}
    for node in nodes:
        if node.conversation is not None:
            talks.setdefault(node.trace, node.conversation)
    by_talk: dict[str, list[Node]] = {}
    for node in nodes:
        talk = node.conversation or talks.get(node.trace, node.trace)
        by_talk.setdefault(talk, []).append(node)
    owners = _owners(nodes)
    called = {talk: own for talk, own in by_talk.items() if any(n.work == "call" for n in own)}
    return [_group(talk, own, owners) for talk, own in called.items()]


def _group(id: str, nodes: Iterable[Node], owners: dict[_Key, list[Node]]) -> Group:
    ordered = sorted(nodes, key=lambda node: node.begin or 0.0)
    calls = [node for node in ordered if node.work == "call"]
    fewest = min(len(owners[_key(node)]) for node in calls)
    below: dict[str, list[Node]] = {}
    for node in calls:
        above = owners[_key(node)]
        if len(above) > fewest:
            below.setdefault(above[0].name or above[0].id, []).append(node)
    main = [node for node in calls if len(owners[_key(node)]) == fewest]
    return Group(id, main, [node for node in ordered if node.work != "call"], below)


def _owners(nodes: Sequence[Node]) -> dict[_Key, list[Node]]:
    """The agents and tools above each call, the nearest first."""
    by_id = {_key(node): node for node in nodes}
    return {_key(node): _above(node, by_id) for node in nodes if node.work == "call"}


def _above(node: Node, by_id: dict[_Key, Node]) -> list[Node]:
    """The agents and tools above a span; a circle ends where it closes."""
    found, seen = [], {_key(node)}
    here = by_id.get((node.trace, node.parent or ""))
    while here is not None and _key(here) not in seen:
        seen.add(_key(here))
        if here.work in _OWNERS:
            found.append(here)
        here = by_id.get((here.trace, here.parent or ""))
    return found


def _key(node: Node) -> _Key:
    return node.trace, node.id
