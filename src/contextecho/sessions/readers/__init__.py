"""One reader a format. A new one is a new module here, or an entry point of another package.

The one thing to know: `sniff` looks at the first lines of a file and must not
answer yes to another format. Other packages' readers are asked first, and `chat`
last: any JSON with roles is its.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, Protocol, runtime_checkable

from contextecho.errors import UsageError
from contextecho.sessions.model import Session
from contextecho.sessions.readers import chat
from contextecho.untrusted import make_visible

GROUP: Final = "contextecho.readers"
"""Of the entry points that name another package's reader, a module."""


@runtime_checkable
class Reader(Protocol):
    """What a reader's module offers."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The format's name, as in `Session.format`."""
        ...

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins like this is in the reader's format."""
        ...

    def read(self, path: Path) -> Session:
        """Index the file. Raises `SessionError`, or `OSError` from opening it."""
        ...


@cache
def readers() -> tuple[Reader, ...]:
    """Every reader there is, in the order in which they are asked.

    Raises UsageError for an entry point that cannot be loaded or is no reader.
    """
    installed = [_load(point) for point in sorted(entry_points(group=GROUP))]
    names = sorted(module.name for module in iter_modules(__path__))
    ours = [import_module(f"{__name__}.{name}") for name in names]
    return (*installed, *(reader for reader in ours if reader is not chat), chat)


def _load(point: EntryPoint) -> Reader:
    """The reader that an entry point names, whatever it does when it is imported."""
    try:
        reader = point.load()
    except Exception as error:
        raise _no_reader(point, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(reader, Reader):
        raise _no_reader(point, "is no reader: it needs NAME, sniff and read")
    return reader


def _no_reader(point: EntryPoint, what: str) -> UsageError:
    todo = "mend or remove the package that brings this reader"
    return UsageError(make_visible(what), where=point.value, todo=todo)
