"""The fake provider in a thread of its own: a test looks into it while a command runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from servers.fake import FakeProvider
from waiting import PATIENCE

Provider = TypeVar("Provider", bound=FakeProvider)


@contextmanager
def serving(**settings: Any) -> Iterator[FakeProvider]:
    """A `FakeProvider` with these settings, listening until the block is left."""
    with listening(FakeProvider(**settings)) as provider:
        yield provider


@contextmanager
def listening(provider: Provider) -> Iterator[Provider]:
    """A provider in a thread of its own, listening until the block is left."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def wait(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(timeout=PATIENCE)

    wait(provider.__aenter__())
    try:
        yield provider
    finally:
        wait(provider.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=PATIENCE)
        loop.close()
