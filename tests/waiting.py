"""Waiting for what another process does, however long a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

PATIENCE = 300.0  # seconds after which a test is stuck; on any machine, a fault


class Running(Protocol):
    """A process that may have ended."""

    def poll(self) -> int | None: ...


def wait_until(true: Callable[[], bool], process: Running | None = None) -> None:
    """Wait until it is true; a process that brings it about must not end before."""
    ends_at = time.monotonic() + PATIENCE
    while not true():
        assert process is None or process.poll() is None, "the process ended too early"
        assert time.monotonic() < ends_at, "it never came to be"
        time.sleep(0.005)
