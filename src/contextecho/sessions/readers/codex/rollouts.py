"""The files that Codex keeps, by their names: which thread's, and which of its rollouts.

The one thing to know: a file is named `rollout-<time>-<thread>.jsonl`, and with `_<rollout>`
behind the thread if a revert began it. A thread's first rollout has the thread's id. Ids begin
with the time at which they were made, and a file lies in the folder of that day, by the
client's clock, until it is archived.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct

from contextecho.sessions.building.belonging import absolute
from contextecho.sessions.readers.codex.replay import milliseconds_in

_ID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME: Final = re.compile(rf"rollout-.{{1,40}}?-({_ID})(?:_({_ID}))?\.jsonl(?:\.zst|\.gz)?")
_TREES: Final = ("sessions", "archived_sessions")
_DAYS: Final = "[0-9]*/[0-9]*/[0-9]*"
_A_DAY: Final = timedelta(days=1)  # no clock is further from UTC

Day = tuple[int, int, int]


class Rollout(Struct, frozen=True):
    """A file, as its name tells."""

    path: Path
    thread: str
    id: str

    @property
    def is_reverts(self) -> bool:
        """Whether a revert began it."""
        return self.id != self.thread


def rollout_at(path: Path) -> Rollout | None:
    """What the name of a file says; `None` if it is not one that the client gives."""
    named = _NAME.fullmatch(path.name)
    return Rollout(path, named[1], named[2] or named[1]) if named else None


class Rollouts:
    """The rollouts in the folders around a file: its client's, or those it was kept with."""

    def __init__(self, *paths: Path) -> None:
        """`paths` are all places of the file; folders of the first are looked into first."""
        self._folders = [absolute(path).parent for path in paths]

    def find(self, id: str) -> Path | None:
        """The file of the rollout with this id."""
        return next((found.path for found in self._made(id, id) if found.id == id), None)

    def of_thread(self, thread: str, last: str) -> list[Rollout]:
        """The thread's rollouts up to the one with the id `last`, in the order of their making."""
        found: dict[str, Rollout] = {}
        for each in self._made(thread, last):
            if each.thread == thread and each.id <= last:
                found.setdefault(each.id, each)
        return [found[id] for id in sorted(found)]

    def _made(self, first: str, last: str) -> Iterator[Rollout]:
        """Those made from the one id's time to the other's; of two of one name the plain first."""
        days = _days(first, last)
        for folder in dict.fromkeys(each for own in self._folders for each in _around(own, days)):
            for name in sorted(_names(folder)):
                if found := rollout_at(folder / name):
                    yield found


def _days(first: str, last: str) -> tuple[Day, Day] | None:
    """The days in which files with such ids can lie; `None` where the ids have no time."""
    began, ended = milliseconds_in(first), milliseconds_in(last)
    if began is None or ended is None:
        return None
    with suppress(OverflowError):
        return _day(began, -_A_DAY), _day(ended, _A_DAY)
    return None


def _day(milliseconds: int, later: timedelta) -> Day:
    day = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds) + later
    return day.year, day.month, day.day


def _around(folder: Path, days: tuple[Day, Day] | None) -> Iterator[Path]:
    """The folders in which a file's relatives may lie: its own, and its client's of these days."""
    top = folder
    while top.name.isdigit():
        top = top.parent
    if top == folder and top.name not in _TREES:
        yield folder
    elif top.name not in _TREES:  # days that were kept together
        yield from (Path(below) for below, _, _ in os.walk(top))
    for tree in (each for each in (folder, *folder.parents) if each.name in _TREES):
        for root in (tree.parent / name for name in _TREES):
            yield root
            for day in sorted(root.glob(_DAYS)):
                if days is None or days[0] <= _day_of(day) <= days[1]:
                    yield day
        return


def _day_of(folder: Path) -> Day:
    year, month, day = (int(part) if part.isdecimal() else 0 for part in folder.parts[-3:])
    return year, month, day


def _names(folder: Path) -> Iterable[str]:
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 (names are enough)
    return ()
