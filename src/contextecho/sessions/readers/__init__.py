"""One reader a format. A new one is a new module here, or an entry point of another package.

The one thing to know: `sniff` looks at the first lines of a file and must not
answer yes to another format. So who is asked first changes nothing but the time: the
clients that leave files by the thousand are. A format whose files hold one session has
`read`, one whose files may hold several has `members` and `read_member`; it may say with
`SEEKS` that so many sessions cost no more than one reading of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

from contextecho.sessions.model import Session
from contextecho.sessions.readers import chat

if TYPE_CHECKING:
    from typing_extensions import TypeIs

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


def our_readers() -> Iterator[Reader]:
    """Ours in the order in which they are asked, but for `chat`, which is the last of all."""
    for module in _our_modules():
        reader = import_module(module)  # when it is its turn: most trees are of one client
        if reader is not chat:
            yield cast("Reader", reader)


@cache
def _our_modules() -> tuple[str, ...]:
    """Kept, since every file of a folder is asked about."""
    found = [module.name for module in iter_modules(__path__) if module.name not in _FIRST]
    return tuple(f"{__name__}.{name}" for name in (*_FIRST, *found))
