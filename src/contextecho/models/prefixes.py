"""Prefixes are serialised once: a small cache of request heads by context hash.

25 to 50 questions share a prefix of 30 kB or more, so a body is the cached head
of its context, a few bytes for the question, and a tail. The engine collects
prefix by prefix; a handful of heads is enough.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from contextecho.contexts import Context

_Head = TypeVar("_Head")
_KEPT = 16


class PrefixCache(Generic[_Head]):
    """The last `kept` rendered heads, by `Context.sha256`."""

    def __init__(self, render: Callable[[Context], _Head], kept: int = _KEPT) -> None:
        """`render` makes the head of a context that is not in the cache."""
        self._render = render
        self._kept = kept
        self._heads: OrderedDict[str, _Head] = OrderedDict()

    def head(self, context: Context) -> _Head:
        """The head of a context, rendered at its first use."""
        key = context.sha256
        if key in self._heads:
            self._heads.move_to_end(key)
        else:
            self._heads[key] = self._render(context)
            if len(self._heads) > self._kept:
                self._heads.popitem(last=False)
        return self._heads[key]
