"""What processes do with a lock, each in a process of its own (`commandline.start_copy`)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from contextecho.store.databases import LockedError
from contextecho.store.databases.lock import exclusive


def hold(words: Sequence[str]) -> None:
    """Take it and keep it."""
    with exclusive(Path(words[0])):
        print("held", flush=True)
        time.sleep(3600)


def take_turns(words: Sequence[str]) -> None:
    """Take it 60 times; each holder makes a file that must not be there and takes it away again."""
    lock, inside = map(Path, words)
    turns = 0
    while turns < 60:
        try:
            with exclusive(lock):
                inside.touch(exist_ok=False)
                inside.unlink()
                turns += 1
        except LockedError:
            pass
