"""The tree of a conversation's messages: which of them follow which, and which are its end.

The one thing to know: where a prompt was edited or an answer made again, a message has
several that follow it. The conversation is the way up from its last message; what lies
beside it is told before the message that went on in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

_NEVER: Final = float("-inf")


class Node(Struct, gc=False):
    """What a message says of its place."""

    parent: str | None = None
    time: float | None = None  # seconds since 1970, UTC


def newest_end(nodes: Mapping[str, Node]) -> tuple[str | None, int]:
    """The newest of the messages that none follows, the last of equal ones; and their number.

    Where all go round in circles, any may be the end.
    """
    followed = {node.parent for node in nodes.values()}
    ends = [id for id in nodes if id not in followed] or list(nodes)
    newest = max(reversed(ends), key=lambda id: _time(nodes[id]), default=None)
    return newest, len(ends)


def way_to(nodes: Mapping[str, Node], end: str | None) -> dict[str, None]:
    """The messages from this one up; a circle ends where it closes."""
    way: dict[str, None] = {}
    while end is not None and end in nodes and end not in way:
        way[end] = None
        end = nodes[end].parent
    return way


def in_order(nodes: Mapping[str, Node], way: dict[str, None]) -> list[str]:
    """All messages, each after the one that it follows; of several, the one on the way last.

    The others are told in the order of their times. Messages whose first one is missing, or
    that go round in a circle, are told before the conversation.
    """
    top = next(reversed(way), None)
    following: dict[str | None, list[str]] = {}
    for id, node in nodes.items():
        if id != top:
            parent = node.parent if node.parent in nodes else None
            following.setdefault(parent, []).append(id)
    for ids in following.values():
        ids.sort(key=lambda id: (id in way, _time(nodes[id])))
    seen: set[str] = set() if top is None else {top}
    aside = list(_below(following.get(None, ()), following, seen))
    main = list(_below(following.get(top, ()), following, seen)) if top is not None else []
    aside += _below(nodes, following, seen)
    return [*aside, *([] if top is None else [top]), *main]


def _below(
    starts: Iterable[str], following: Mapping[str | None, list[str]], seen: set[str]
) -> Iterator[str]:
    """These messages with all that follow them, but for those that were seen."""
    for start in starts:
        stack = [start]
        while stack:
            id = stack.pop()
            if id not in seen:
                seen.add(id)
                yield id
                stack += reversed(following.get(id, ()))


def _time(node: Node) -> float:
    return _NEVER if node.time is None else node.time
