"""Side fields of an answer: what a server says beside the text.

The one thing to know: a field of another type than agreed, or a count that no call
can have, is taken as not said. The text was paid for and counts all the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from contextecho.models.model import Usage

_MOST_TOKENS = 2**53  # every JSON library reads integers up to here exactly


def word(value: object) -> str | None:
    """A name that a server gave; None where it is none."""
    return value if isinstance(value, str) else None


def believed(usage: Usage) -> Usage:
    """The usage without a sum that is less than its parts: nobody knows which of them is wrong."""
    read = (usage.cached or 0) + (usage.cache_write or 0)
    if usage.input is not None and usage.input < read:
        usage = msgspec.structs.replace(usage, input=None)
    if usage.output is not None and usage.output < (usage.reasoning or 0):
        usage = msgspec.structs.replace(usage, output=None)
    return usage


def first_tokens(usage: object, paths: Iterable[tuple[str, ...]]) -> int | None:
    """The token count at the first of several paths that has one."""
    for path in paths:
        if (count := tokens(usage, *path)) is not None:
            return count
    return None


def tokens(usage: object, *path: str) -> int | None:
    """The token count at `path` in a usage object; None where there is none to believe."""
    for name in path:
        if not isinstance(usage, dict):
            return None
        usage = usage.get(name)
    if isinstance(usage, float) and usage.is_integer():
        usage = int(usage)
    if type(usage) is not int:  # a bool is an `int` as well
        return None
    return usage if 0 <= usage <= _MOST_TOKENS else None
