"""The tree of V1's events, from SDK 1.33 on: which of them the conversation left behind.

The one thing to know: an event names its parent, and one without names none because an
older client wrote it: it follows the event before it. A root in the middle is a rewind to
the start only if the events before it are linked; after older ones it is a resume that
lost its link.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from contextecho.sessions.building.fields import string
from contextecho.sessions.readers.openhands import v1

PARENT: Final = b'"parent_id"'
"""What a file holds in which events are a tree."""
_ROOT: Final = "__root__"


def left_behind(events: Iterable[Any], leaf: str | None) -> frozenset[str]:
    """The ids of the events that are not on the way to `leaf`, or to the last event."""
    before = dict[str, str | None]()
    parents = dict[str, str | None]()
    last, is_linked = None, False
    for event in events:
        if not v1.is_event(event) or event["id"] in before:
            continue
        id, parent = event["id"], string(event, "parent_id")
        before[id] = last
        parents[id] = None if parent == _ROOT and is_linked else parent or last
        if parent == _ROOT and not is_linked:
            parents[id] = last
        is_linked |= parent is not None
        last = id
    if not is_linked:
        return frozenset()
    way, here = set[str](), leaf if leaf in before else last
    while here is not None and here not in way:
        way.add(here)
        parent = parents[here]
        here = parent if parent is None or parent in before else before[here]
    return frozenset(before.keys() - way)
