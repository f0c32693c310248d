"""The tree of a pi session's entries, and the branch that is the conversation.

The one thing to know: the client stands on the entry that it wrote last, or where the last
`leaf` moved it, so the active branch is the way from there to the root. A parent that the
file does not hold (its line is broken) is replaced by where the client stood before.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any


class Tree:
    """Which entry follows which."""

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}  # in the file's order
        self._before: dict[str, str | None] = {}
        self._leaf: str | None = None  # where the client stands; none: before all entries

    def add(self, entry: dict[str, Any]) -> None:
        """Take in one entry; one without an id (a header, or version 1) has no place here."""
        id, parent = entry.get("id"), entry.get("parentId")
        if not isinstance(id, str) or entry.get("type") == "session" or id in self._parents:
            return
        self._parents[id] = parent if isinstance(parent, str) else None
        self._before[id] = self._leaf
        self._leaf = self._moved(entry) if entry.get("type") == "leaf" else id

    def _moved(self, leaf: dict[str, Any]) -> str | None:
        """Where a `leaf` moves the client; one that names no entry of the file moves nothing."""
        target = leaf.get("targetId", "")
        known = target is None or (isinstance(target, str) and target in self._parents)
        return target if known else self._leaf

    def is_active(self, id: str | None) -> bool:
        """Whether the entry is on the branch that the session ends in."""
        return id not in self._parents or id in self._active

    def is_above(self, above: str, id: str | None) -> bool:
        """Whether the first of these entries is above the second, which is active."""
        return self._active.get(above, -1) > self._active.get(id, len(self._way))

    @cached_property
    def _active(self) -> dict[str | None, int]:
        return {id: place for place, id in enumerate(self._way)}

    @cached_property
    def _way(self) -> list[str]:
        """The entries from the last one to the root; a circle ends where it closes."""
        way: dict[str, None] = {}
        here = self._leaf
        while here is not None and here not in way:
            way[here] = None
            parent = self._parents[here]
            here = (
                self._before[here] if parent is not None and parent not in self._parents else parent
            )
        return list(way)
