"""What one target is asked next: prefix groups in order, retries when they are due.

The one thing to know: the first request of a prefix goes alone, so that the
provider's cache is warm when the rest follow, and again when the prefix was not
used for as long as the provider keeps it. Groups are pulled request by request, so
an agenda holds a window of them and never the whole plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count

from contextecho.contexts import Request
from contextecho.engine.sizes import Weight
from contextecho.models import Caching

_UNWEIGHED = Weight(0, 0)


@dataclass(slots=True, eq=False)
class _Group:
    """The requests of one prefix, each of them once."""

    requests: Iterator[Request]
    caching: Caching
    _missing: int = 0  # answers that the provider's cache still needs
    _used: float = float("-inf")  # when the prefix was last sent
    _warmer: Item | None = None  # the request that warms it

    def pull(self) -> Request | None:
        """The next request."""
        return next(self.requests, None)

    def admits(self, item: Item | None, now: float) -> bool:
        """Whether an item may be sent (None: a new one): its prefix is warm, or it warms it."""
        if now - self._used > self.caching.life:
            self._missing = self.caching.calls
        return not self._missing or self._warmer is None or self._warmer is item

    def cools(self, now: float) -> bool:
        """Whether the prefix is warm, and will not be for long unless it is used."""
        return not self._missing and now - self._used > self.caching.life / 2

    def begin(self, item: Item, now: float) -> None:
        """An item is sent."""
        self._used = now
        if self._missing:
            self._warmer = item

    def answered(self, item: Item, now: float) -> None:
        """The provider has read the prefix once more."""
        self._used = now
        if self._warmer is item:
            self._missing -= 1
        self.leave(item)

    def leave(self, item: Item) -> None:
        """An item will not warm the prefix, or has done it."""
        if self._warmer is item:
            self._warmer = None


@dataclass(slots=True, eq=False)
class Item:
    """A request on its way."""

    request: Request
    _group: _Group
    attempts: int = 0
    weight: Weight = _UNWEIGHED  # what it takes of a minute
    worst: float = 0.0  # set aside for it in the budget while it is out
    is_new: bool = True  # not looked up in the store yet

    def may_go(self, now: float) -> bool:
        """Whether its prefix is warm, or this item is to warm it."""
        return self._group.admits(self, now)

    def goes(self, now: float) -> Item:
        """The item itself, which is sent now."""
        self._group.begin(self, now)
        return self

    def warmed(self, now: float) -> None:
        """The provider has read the prefix: the rest of its group may follow."""
        self._group.answered(self, now)

    def left_cold(self) -> None:
        """The request will not warm its prefix; the next one of the group may try."""
        self._group.leave(self)


class Agenda:
    """The requests to one target, in the order in which they may be sent."""

    def __init__(
        self, groups: Iterable[Iterable[Request]], most_waiting: int, caching: Caching
    ) -> None:
        """No new request is pulled while `most_waiting` wait for their retry.

        `caching` is what the provider's cache needs and how long it keeps a prefix.
        """
        self._ahead = (_Group(iter(requests), caching) for requests in groups)
        self._most_waiting = most_waiting
        self._open: list[_Group] = []
        self._waiting: list[tuple[float, int, Item]] = []  # a heap by due time
        self._order = count()  # of retries that are due at the same moment
        self._cold: list[Item] = []  # retries that wait until their prefix is warm again
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
            return item.goes(now)
        while self._waiting and self._waiting[0][0] <= now:
            self._cold.append(heapq.heappop(self._waiting)[2])
        for index, item in enumerate(self._cold):
            if item.may_go(now):
                return self._cold.pop(index).goes(now)
        if len(self._waiting) + len(self._cold) >= self._most_waiting:
            return None  # new requests would fail like those
        return self._new(now)

    def put_back(self, item: Item) -> None:
        """Let an item be the next one again."""
        self._front = item

    def retry(self, item: Item, due: float) -> None:
        """Let an item wait for its next attempt."""
        heapq.heappush(self._waiting, (due, next(self._order), item))

    def rest(self) -> Iterator[Item]:
        """Every request that was not pulled yet, for when nothing more will be asked."""
        for group in chain(self._open, self._ahead):
            while (request := group.pull()) is not None:
                yield Item(request, group)

    def _new(self, now: float) -> Item | None:
        """Of a group that would cool, else of the first that may go on, else of one not begun."""
        while (group := self._next_group(now)) is not None:
            request = group.pull()
            if request is not None:
                return Item(request, group).goes(now)
            self._open.remove(group)
        return None

    def _next_group(self, now: float) -> _Group | None:
        ready = None
        for group in self._open:
            if group.admits(None, now):
                if group.cools(now):
                    return group
                ready = ready or group
        if ready is not None:
            return ready
        begun = next(self._ahead, None)
        if begun is not None and begun.admits(None, now):
            self._open.append(begun)
        return begun
