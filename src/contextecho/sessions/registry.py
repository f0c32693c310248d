"""Every reader there is: ours, then other packages', and `chat`, whose is any JSON with roles.

The one thing to know: other packages' are looked for only when none of ours knows a file,
because looking takes longer than reading a short session. One that cannot be used is told
of once, as a `ReaderWarning`, and the files are read by the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from contextecho.errors import ReaderWarning, UsageError
from contextecho.sessions.guarding import GuardedSeveral, GuardedSingle, guarded, told
from contextecho.sessions.readers import Reader, Several, Single, chat, our_readers
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "contextecho.readers"
"""Of the entry points that name another package's reader, a module."""


class OtherReaders(NamedTuple):
    """What other packages bring."""

    usable: tuple[GuardedSingle | GuardedSeveral, ...]
    refused: tuple[UsageError, ...]  # why each of the others cannot be used


def readers() -> Iterator[Reader]:
    """Every reader that can be used, in the order in which they are asked."""
    yield from our_readers()
    yield from other_readers().usable
    yield chat


@cache
def other_readers() -> OtherReaders:
    """The readers of other packages; warns of those that cannot be used."""
    from importlib.metadata import entry_points

    owners = {reader.NAME: "this program" for reader in (*our_readers(), chat)}
    usable, refused = [], []
    for point in sorted(entry_points(group=GROUP)):
        try:
            reader = _load(point, owners)
        except UsageError as error:
            refused.append(error)
            warnings.warn(str(error), ReaderWarning, stacklevel=2)
        else:
            usable.append(reader)
            owners[reader.NAME] = f"the package {reader.package}"
    return OtherReaders(tuple(usable), tuple(refused))


def _load(point: EntryPoint, owners: dict[str, str]) -> GuardedSingle | GuardedSeveral:
    """The reader that an entry point names. Raises `UsageError` if it cannot be used."""
    package = one_line(point.dist.name) if point.dist is not None else point.module
    try:
        reader = point.load()
        is_reader = isinstance(reader, Single | Several) and isinstance(reader.NAME, str)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise _refused(point, package, f"cannot be loaded: {told(error)}") from error
    if not is_reader:
        raise _refused(point, package, "is no reader: it needs NAME, sniff and read")
    if reader.NAME in owners:
        what = f"is not used: the name {one_line(reader.NAME)} is that of a reader of"
        raise _refused(point, package, f"{what} {owners[reader.NAME]}")
    return guarded(reader, package)


def _refused(point: EntryPoint, package: str, what: str) -> UsageError:
    todo = f"report it to the package {package}, or uninstall that"
    return UsageError(what, where=f"reader: {one_line(point.name)}", todo=todo)
