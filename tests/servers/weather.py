"""What befalls the requests to a provider on a bad day: now and then a fault, and storms.

The one thing to know: storms are of time and not of calls, so that a client which waits
rides them out and one which hammers does not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TypeVar

T = TypeVar("T")

CALM, STORM = (1.0, 4.0), (0.2, 1.0)  # seconds, at least and at most
SHARE = 0.06  # of the requests in calm weather that meet a fault


def weather(seed: int, passing: Sequence[T], storms: Sequence[T]) -> Iterator[T | None]:
    """One fault or None a request, for ever: single `passing` ones, and `storms` of one kind."""
    luck = random.Random(seed)
    while True:
        for _ in _spell(luck, CALM):
            yield luck.choice(passing) if luck.random() < SHARE else None
        storm = luck.choice(storms)
        for _ in _spell(luck, STORM):
            yield storm


def _spell(luck: random.Random, length: tuple[float, float]) -> Iterator[float]:
    """One item a request until a random time is over."""
    ends_at = time.monotonic() + luck.uniform(*length)
    return takewhile(lambda now: now < ends_at, iter(time.monotonic, None))
