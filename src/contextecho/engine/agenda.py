"""What one target is asked next: prefix groups in order, retries when they are due.

The one thing to know: the first request of a prefix goes alone, so that the
provider's cache is warm when the rest follow. Groups are pulled request by
request, so an agenda holds a window of them and never the whole plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count

from contextecho.contexts import Request


@dataclass(slots=True)
class _Group:
    """The requests of one prefix; the same request twice is asked once."""

    requests: Iterator[Request]
    warm: bool = False
    warming: bool = False
    keys: set[bytes] = field(default_factory=set)

    def pull(self) -> Request | None:
        """The next request that was not pulled before."""
        for request in self.requests:
            key = bytes.fromhex(request.key)  # half as large, and a group can be long
            if key not in self.keys:
                self.keys.add(key)
                return request
        return None


@dataclass(slots=True, eq=False)
class Item:
    """A request on its way."""

    request: Request
    _group: _Group
    attempts: int = 0
    worst: float = 0.0  # set aside for it in the budget while it is out
    is_new: bool = True  # not looked up in the store yet

    def warmed(self) -> None:
        """The provider has read the prefix: the rest of its group may follow."""
        self._group.warm = True

    def left_cold(self) -> None:
        """The request will not warm its prefix; the next one of the group may try."""
        self._group.warming = False


class Agenda:
    """The requests to one target, in the order in which they may be sent."""

    def __init__(self, groups: Iterable[Iterable[Request]], most_waiting: int) -> None:
        """No new request is pulled while `most_waiting` wait for their retry."""
        self._ahead = iter(groups)
        self._most_waiting = most_waiting
        self._open: list[_Group] = []
        self._waiting: list[tuple[float, int, Item]] = []  # a heap by due time
        self._order = count()  # of retries that are due at the same moment
        self._front: Item | None = None

    @property
    def due(self) -> float | None:
        """When the first retry is due."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def has_front(self) -> bool:
        """Whether an item was put back."""
        return self._front is not None

    def next(self, now: float) -> Item | None:
        """What was put back, a retry that is due, or a new request; None: nothing right now."""
        if self._front is not None:
            item, self._front = self._front, None
            return item
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        if len(self._waiting) >= self._most_waiting:
            return None  # new requests would fail like those
        return self._new()

    def put_back(self, item: Item) -> None:
        """Let an item be the next one again."""
        self._front = item

    def retry(self, item: Item, due: float) -> None:
        """Let an item wait for its next attempt."""
        heapq.heappush(self._waiting, (due, next(self._order), item))

    def rest(self) -> Iterator[Item]:
        """Every request that was not pulled yet, for when nothing more will be asked."""
        for group in chain(self._open, (_Group(iter(ahead)) for ahead in self._ahead)):
            while (request := group.pull()) is not None:
                yield Item(request, group)

    def _new(self) -> Item | None:
        """From the first open group that may go on; else from a group not yet begun."""
        index = 0
        while True:
            if index == len(self._open):
                ahead = next(self._ahead, None)
                if ahead is None:
                    return None
                self._open.append(_Group(iter(ahead)))
            group = self._open[index]
            if group.warming and not group.warm:
                index += 1
                continue
            request = group.pull()
            if request is None:
                del self._open[index]
                continue
            group.warming = True
            return Item(request, group)
