"""Prefixes are serialised once: a cache of request heads by context hash.

25 to 50 questions share a prefix of 30 kB or more, so a body is the cached head
of its context, a few bytes for the question, and a tail. The engine collects
prefix by prefix, but begins one for every call that may be out, and returns to
each; as many heads are kept as that needs, within a bound on their bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from contextecho.contexts import Context

_MOST_BYTES = 64 << 20


class Rendered(Protocol):
    """The part of a body that requests on one context share."""

    @property
    def body(self) -> bytes:
        """Its bytes."""
        ...


_Head = TypeVar("_Head", bound=Rendered)


class PrefixCache(Generic[_Head]):
    """The rendered heads that were used last, by `Context.sha256`; at least one is kept."""

    def __init__(self, render: Callable[[Context], _Head], most_bytes: int = _MOST_BYTES) -> None:
        """`render` makes the head of a context that is not in the cache."""
        self._render = render
        self._room = most_bytes
        self._heads: OrderedDict[str, _Head] = OrderedDict()

    def head(self, context: Context) -> _Head:
        """The head of a context, rendered at its first use."""
        key = context.sha256
        if key in self._heads:
            self._heads.move_to_end(key)
            return self._heads[key]
        head = self._heads[key] = self._render(context)
        self._room -= len(head.body)
        while self._room < 0 and len(self._heads) > 1:
            self._room += len(self._heads.popitem(last=False)[1].body)
        return head
