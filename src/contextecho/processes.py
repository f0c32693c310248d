"""Work on many files, spread over processes.

The one thing to know: what is spread is a function of a module and items that can be
pickled; its results come back in the order of the items. One process does it all when
there is one core or little to do, and finishes alone what lost workers leave undone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

_CHUNK: Final = 4 << 20  # bytes of files that one worker is given at once
_MOST_IN_CHUNK: Final = 64  # files
_LEAST_SPREAD: Final = 16 << 20  # bytes; below, the work is done before workers pay
_PER_FILE: Final = 20_000  # bytes that could be read while a file is opened and begun

Item = TypeVar("Item")
Result = TypeVar("Result")


def core_count() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    sizes: Sequence[int],
    *,
    processes: int | None = None,
    load: Callable[[], object] = lambda: None,
) -> list[Result]:
    """`work` of each item, in the order of the items, over processes (default: one a core).

    `sizes` are the bytes that each item stands for: the largest are begun first, small
    ones go together. `work` must not raise; if it does, that is raised here. `load` loads
    what all work needs: once for all processes, where they are copies of this one.
    """
    workers = min(core_count() if processes is None else processes, len(items))
    if workers < 2 or sum(sizes) + _PER_FILE * len(items) < _LEAST_SPREAD:
        return [work(item) for item in items]
    results: dict[int, Result] = {}
    _work_apart(work, items, list(_chunks(sizes)), workers, _context(load), results)
    return [results[n] if n in results else work(item) for n, item in enumerate(items)]


def _work_apart(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    chunks: Sequence[Sequence[int]],
    workers: int,
    context: BaseContext,
    results: dict[int, Result],
) -> None:
    """Fill in `results` by the number of the item; what lost workers had stays open."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    pool = ProcessPoolExecutor(
        min(workers, len(chunks)), mp_context=context, initializer=_leave_quietly
    )
    try:
        begun: list[tuple[Sequence[int], Future[list[Result]]]] = [
            (chunk, pool.submit(_all_of, work, [items[n] for n in chunk])) for chunk in chunks
        ]
        for chunk, done in begun:
            results.update(zip(chunk, done.result(), strict=True))
    except BrokenProcessPool:
        pass
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(sizes: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of the items, the largest first, small ones together."""
    chunk: list[int] = []
    held = 0
    for number in sorted(range(len(sizes)), key=lambda n: -sizes[n]):
        chunk.append(number)
        held += sizes[number] + _PER_FILE
        if held >= _CHUNK or len(chunk) == _MOST_IN_CHUNK:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


def _all_of(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """What a worker does with a chunk."""
    return [work(item) for item in items]


def _leave_quietly() -> None:
    """A worker that is interrupted ends at once: its parent says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _context(load: Callable[[], object]) -> BaseContext:
    """A copy of this process and of what it loaded where it has one thread, else a new one."""
    from multiprocessing import get_context

    if _may_be_copied():
        load()
    return get_context("fork" if _may_be_copied() else "spawn")  # it may have brought threads


def _may_be_copied() -> bool:
    """A lock that another thread holds would stay locked in a copy."""
    return sys.platform == "linux" and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1
