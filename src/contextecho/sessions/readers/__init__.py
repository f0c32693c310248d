"""One reader a format. A new one is a new module here, or an entry point of another package.

The one thing to know: `sniff` looks at the first lines of a file and must not
answer yes to another format. So who is asked first changes nothing but the time: the
clients that leave files by the thousand are. Other packages' readers are asked after
ours, and looked for only then, because looking takes longer than reading a short
session; `chat` comes last: any JSON with roles is its. A format whose files hold one
session has `read`, one whose files may hold several has `members` and `read_member`; it
may say with `SEEKS` that so many sessions cost no more than one reading of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

from contextecho.errors import UsageError
from contextecho.sessions.model import Session
from contextecho.sessions.readers import chat
from contextecho.untrusted import make_visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from typing_extensions import TypeIs

GROUP: Final = "contextecho.readers"
"""Of the entry points that name another package's reader, a module."""

_FIRST: Final = ("claude_code", "codex")


class Format(Protocol):
    """What every reader's module offers."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The format's name, as in `Session.format`."""
        ...

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins like this is in the reader's format."""
        ...


@runtime_checkable
class Single(Format, Protocol):
    """A reader of files that hold one session."""

    def read(self, path: Path) -> Session:
        """Index the file. Raises `SessionError`, or `OSError` from opening it."""
        ...


@runtime_checkable
class Several(Format, Protocol):
    """A reader of files that may hold several sessions, each with a name of its own."""

    def members(self, path: Path) -> Sequence[str]:
        """The names of the sessions in the file, in its order. Raises like `read_member`."""
        ...

    def read_member(self, path: Path, member: str) -> Session:
        """Index one of them. Raises `SessionError`, or `OSError` from opening the file."""
        ...


Reader = Single | Several


def is_single(reader: Reader) -> TypeIs[Single]:
    """Whether a reader's files hold one session each; `isinstance` would take far longer."""
    return hasattr(reader, "read")


def seeks(reader: Reader) -> bool:
    """Whether it says so (`SEEKS`): each session is read from its own place in the file."""
    return getattr(reader, "SEEKS", False) is True


def readers() -> Iterator[Reader]:
    """Every reader there is, in the order in which they are asked.

    Raises UsageError for an entry point that cannot be loaded or is no reader.
    """
    for module in _our_modules():
        reader = import_module(module)  # when it is its turn: most trees are of one client
        if reader is not chat:
            yield cast("Reader", reader)
    yield from _installed()
    yield chat


@cache
def _our_modules() -> tuple[str, ...]:
    """Kept, since every file of a folder is asked about."""
    found = [module.name for module in iter_modules(__path__) if module.name not in _FIRST]
    return tuple(f"{__name__}.{name}" for name in (*_FIRST, *found))


@cache
def _installed() -> tuple[Reader, ...]:
    from importlib.metadata import entry_points

    return tuple(_load(point) for point in sorted(entry_points(group=GROUP)))


def _load(point: EntryPoint) -> Reader:
    """The reader that an entry point names, whatever it does when it is imported."""
    try:
        reader = point.load()
    except Exception as error:
        raise _no_reader(point, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(reader, Single | Several):
        raise _no_reader(point, "is no reader: it needs NAME, sniff and read")
    return reader


def _no_reader(point: EntryPoint, what: str) -> UsageError:
    todo = "mend or remove the package that brings this reader"
    return UsageError(make_visible(what), where=point.value, todo=todo)
