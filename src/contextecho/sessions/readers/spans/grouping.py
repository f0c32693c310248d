"""Which calls of a model belong together, and which of them are a sub-agent's.

The one thing to know: a trace is of the conversation that any of its spans names. The
main thread is made of the calls that stand below the fewest agents and tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from contextecho.sessions.readers.spans.nodes import Node

_OWNERS: Final = ("agent", "tool")
_Key = tuple[str, str]  # of a span: its trace and its id


class Above(NamedTuple):
    """How many agents and tools stand above a span, and the nearest of them."""

    owners: int
    nearest: Node | None


_NOTHING: Final = Above(0, None)


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
    called = {talk: own for talk, own in by_talk.items() if any(n.work == "call" for n in own)}
    owners = _owners(nodes)
    return [_group(talk, own, owners) for talk, own in called.items()]


def _group(id: str, nodes: Iterable[Node], owners: dict[_Key, Above]) -> Group:
    ordered = sorted(nodes, key=lambda node: node.begin or 0.0)
    calls = [(node, owners.get(_above(node), _NOTHING)) for node in ordered if node.work == "call"]
    fewest = min(above.owners for _, above in calls)
    below: dict[str, list[Node]] = {}
    for node, above in calls:
        if above.nearest is not None and above.owners > fewest:
            below.setdefault(above.nearest.name or above.nearest.id, []).append(node)
    main = [node for node, above in calls if above.owners == fewest]
    return Group(id, main, [node for node in ordered if node.work != "call"], below)


def _owners(nodes: Sequence[Node]) -> dict[_Key, Above]:
    """The agents and tools at each span and above; of a circle, all that are in it.

    Each span is passed once, however deep they stand.
    """
    by_id = {_key(node): node for node in nodes}
    found: dict[_Key, Above] = {}
    for key in by_id:
        way: dict[_Key, Node] = {}
        while key in by_id and key not in way and key not in found:
            way[key] = by_id[key]
            key = _above(by_id[key])
        if key in way:
            found |= _in_circle([*way.values()][[*way].index(key) :])
        above = found.get(key, _NOTHING)
        for here, node in reversed(way.items()):
            if here not in found:
                found[here] = Above(above.owners + 1, node) if node.work in _OWNERS else above
            above = found[here]
    return found


def _in_circle(circle: Sequence[Node]) -> dict[_Key, Above]:
    """The same for spans of which each has the next above it, and the last the first."""
    owners = [node for node in circle if node.work in _OWNERS]
    nearest = owners[0] if owners else None
    found = {}
    for node in reversed(circle):
        nearest = node if node.work in _OWNERS else nearest
        found[_key(node)] = Above(len(owners), nearest)
    return found


def _key(node: Node) -> _Key:
    return node.trace, node.id


def _above(node: Node) -> _Key:
    return node.trace, node.parent or ""
