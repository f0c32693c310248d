"""The tree of records, as far as it matters: repeated records and abandoned branches.

The one thing to know: file order is the order of the conversation. The tree
serves only to see a rewind, which is two human prompts (or two answers of the
model, written at different times) under one and the same message; the branch
whose last record comes later in the file is the one that went on. Everything
else that looks like a fork (progress, parallel calls, notices) is none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from contextecho.sessions.model import Turn

_ROOT = -1

# What a message record is in the conversation's tree. Plain numbers: they are kept as bytes.
OTHER: Final = 0
PROMPT: Final = 1
ANSWER: Final = 2


class Branches:
    """Message records as nodes, each hanging below the nearest message above it."""

    def __init__(self) -> None:
        # uuid -> node, or -2 - node above it for records that are no messages
        self.nodes: dict[str | None, int] = {}
        self._above = array("i")
        self._first_turn = array("I")
        self._moves = bytearray()

    def add_other(self, uuid: str | None, parent: str | None) -> None:
        """A record that is no message: what hangs below it hangs below its message."""
        if uuid is not None:
            self.nodes.setdefault(uuid, -2 - self._node(parent))

    def add_message(self, uuid: str | None, parent: str | None, turn: int, move: int) -> None:
        """A message whose first turn will be number `turn`."""
        if (above := self.nodes.get(parent, _ROOT)) < _ROOT:  # `_node`, which every message needs
            above = -2 - above
        if uuid is not None:
            self.nodes[uuid] = len(self._above)
        self._above.append(above)
        self._first_turn.append(turn)
        self._moves.append(move)

    def turns_of(self, uuids: Iterable[str], total: int) -> Iterator[int]:
        """The turns of these messages, of `total` turns."""
        for uuid in uuids:
            if (node := self.nodes.get(uuid, _ROOT)) >= 0:
                yield from self._range(node, total)

    def turns_between(self, head: str, tail: str, total: int) -> range:
        """The turns from one message to another, both included, in file order.

        Where a record that is no message is named, the nearest message is meant: for the
        head the one that follows on the way to the tail, for the tail the one above.
        """
        first, last = self.nodes.get(head, _ROOT), self._node(tail)
        if first < 0 and head in self.nodes:
            first = self._next_below(self._node(head), last)
        if first < 0 or last < first:
            return range(0)
        return range(self._first_turn[first], self._range(last, total).stop)

    def _next_below(self, above: int, node: int) -> int:
        """The message that follows `above` on the way to `node`; the root where none does."""
        if node <= above:
            return _ROOT
        while self._above[node] > above:
            node = self._above[node]
        return node

    def abandoned(self, turns: Sequence[Turn]) -> Iterator[int]:
        """The numbers of the turns on branches that a rewind left behind."""
        forks = self._forks()
        if not forks:
            return
        left = self._losers(forks, lambda node: self._time(node, turns))
        for node, above in enumerate(self._above):
            if node in left or above in left:
                left.add(node)
                yield from self._range(node, len(turns))

    def _forks(self) -> list[list[int]]:
        """Prompts, or answers, that stand under one message: two or more each."""
        nobody = array("i", [_ROOT]) * len(self._above)
        firsts: dict[int, array[int]] = {PROMPT: nobody, ANSWER: nobody[:]}
        forks: dict[int, list[int]] = {}
        for node, (above, move) in enumerate(zip(self._above, self._moves, strict=True)):
            if move == OTHER or above == _ROOT:
                continue
            first = firsts[move][above]
            if first == _ROOT:
                firsts[move][above] = node
            else:
                forks.setdefault(first, [first]).append(node)
        return list(forks.values())

    def _losers(self, forks: list[list[int]], time: Callable[[int], float | None]) -> set[int]:
        """The first messages of the branches that did not go on."""
        latest = array("i", range(len(self._above)))
        for node in range(len(latest) - 1, -1, -1):
            above = self._above[node]
            if above != _ROOT and latest[node] > latest[above]:
                latest[above] = latest[node]
        losers: set[int] = set()
        for rivals in forks:
            if len({time(node) for node in rivals}) > 1:
                live = max(rivals, key=latest.__getitem__)
                losers.update(node for node in rivals if node != live)
        return losers

    def _time(self, node: int, turns: Sequence[Turn]) -> float | None:
        span = self._range(node, len(turns))
        return turns[span.start].time if span else None

    def _node(self, uuid: str | None) -> int:
        """The message that `uuid` is, or hangs below; the root where there is none."""
        found = self.nodes.get(uuid, _ROOT)
        return found if found >= _ROOT else -2 - found

    def _range(self, node: int, total: int) -> range:
        """The turns from this message to the next one."""
        last = node + 1 == len(self._first_turn)
        return range(self._first_turn[node], total if last else self._first_turn[node + 1])
