"""Writing together what happens together: one transaction for every task of this moment.

The one thing to know: nobody goes on before what they wrote is on disk, so a call
is in the ledger before it is sent. Only the cost of the transaction is shared. Where
a commit waits for a disk far away, a thread waits in the loop's stead, and what comes
meanwhile makes the next group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from contextecho.store.ledger import Begin, Entry

Write = Callable[[Sequence[Entry]], list[int]]


class Groups:
    """Entries that wait to be written, in the order in which they came."""

    def __init__(self, write: Write, *, in_thread: bool) -> None:
        """`write` keeps entries in one transaction and gives each one's attempt."""
        self._write = write
        self._in_thread = in_thread
        self._thread: Executor | None = None
        self._waiting: list[tuple[Entry, asyncio.Future[int]]] = []
        self._begun = False  # somebody will write what waits

    def written(self, entry: Entry) -> asyncio.Future[int]:
        """Write an entry with its group; what is returned has its attempt once it is on disk."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[int] = loop.create_future()
        self._waiting.append((entry, told))
        if not self._begun:
            self._begun = True
            # A turn later: whoever goes on because of what is written here writes with it.
            loop.call_soon(loop.call_soon, self._write_group, loop)
        return told

    def finish(self) -> None:
        """Write what still waits. Calls that nobody makes any more are not begun."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
        self._begun = False
        if ends := [entry for entry, _ in self._take() if not isinstance(entry, Begin)]:
            self._write(ends)

    def _take(self) -> list[tuple[Entry, asyncio.Future[int]]]:
        """What waits now, without the calls that were given up meanwhile."""
        taken, self._waiting = self._waiting, []
        return [
            (entry, told)
            for entry, told in taken
            if not (told.cancelled() and isinstance(entry, Begin))
        ]

    def _write_group(self, loop: asyncio.AbstractEventLoop) -> None:
        group = self._take()
        if not group:
            self._begun = False
        elif self._in_thread:
            self._write_elsewhere(loop, group)
        else:
            self._begun = False
            try:
                self._tell(group, self._write([entry for entry, _ in group]))
            except Exception as error:  # whoever waits is told
                self._fail(group, error)

    def _write_elsewhere(
        self, loop: asyncio.AbstractEventLoop, group: list[tuple[Entry, asyncio.Future[int]]]
    ) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "store")
        done = loop.run_in_executor(self._thread, self._write, [entry for entry, _ in group])

        def tell(done: asyncio.Future[list[int]]) -> None:
            if done.cancelled():
                return
            if error := done.exception():
                self._fail(group, error)
            else:
                self._tell(group, done.result())
            self._write_group(loop)

        done.add_done_callback(tell)

    def _tell(self, group: list[tuple[Entry, asyncio.Future[int]]], attempts: list[int]) -> None:
        for (_, told), attempt in zip(group, attempts, strict=True):
            if not told.done():
                told.set_result(attempt)

    def _fail(self, group: list[tuple[Entry, asyncio.Future[int]]], error: BaseException) -> None:
        for _, told in group:
            if not told.done():
                told.set_exception(error)
