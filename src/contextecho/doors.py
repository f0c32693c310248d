"""A room's door that loads what is asked for, when it is first asked for.

The one thing to know: a light command that needs one type or one check of a room must
not pay for the rest of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def open_on_demand(room: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` (PEP 562) of a room.

    `homes` says which names each module holds; `a.b` is module b of the room's group a.
    """

    def load(name: str) -> object:
        for module, names in homes.items():
            if name in names:
                loaded = import_module(f"{room}.{module}")
                vars(sys.modules[room]).update({each: getattr(loaded, each) for each in names})
                return getattr(loaded, name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return load
