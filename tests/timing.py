"""Claims about speed that hold on any machine, however slow or busy: CPU, never the clock."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import TypeVar

T = TypeVar("T")

_YARD = range(1_000_000)
_YARD_SECONDS = 0.0155  # an empty loop over it, where the limits of the tests were set


@contextmanager
def takes_less_than(seconds: float) -> Iterator[None]:
    """The block must take less than `seconds` of CPU of the machine where the limits were set.

    What a loop takes before and after it tells how much slower this machine is now.
    """
    before = slowness()
    began = process_time()
    yield
    took = process_time() - began
    slower = max(before, slowness())
    assert took < seconds * slower, f"{took:.3f} s of CPU on a machine {slower:.2f} times slower"


def slowness() -> float:
    """How many times longer this machine takes now than the one where the limits were set."""
    return _seconds(_walk_the_yard) / _YARD_SECONDS


def least(work: Callable[[], object]) -> float:
    """CPU seconds, the least of three runs: a busy machine only ever adds."""
    return min(_seconds(work) for _ in range(3))


def growth(make: Callable[[int], T], work: Callable[[T], object], small: int, large: int) -> float:
    """How many times longer `work` takes on what `make` makes of `large` than of `small`."""
    short, long = make(small), make(large)
    return least(lambda: work(long)) / least(lambda: work(short))


def _walk_the_yard() -> None:
    for _ in _YARD:
        pass


def _seconds(work: Callable[[], object]) -> float:
    """Without collecting garbage, which takes as long as all else in memory is large."""
    gc.disable()
    try:
        began = process_time()
        work()
        return process_time() - began
    finally:
        gc.enable()
