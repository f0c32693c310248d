"""Another package's reader, so held that a defect of it is an error of the file alone.

The one thing to know: `SessionError`, and `OSError` from the file, are a reader's to raise;
anything else is told as a failure of that reader, also when content is loaded later. Ours
are not held so: a defect of ours is to be seen. `MemoryError` and interrupts go through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from contextecho.errors import PassingError, SessionError
from contextecho.sessions.model import Content, Session, Source, Spread, Turn
from contextecho.sessions.packing.packed import lies_at
from contextecho.sessions.readers import Reader, Several, Single, is_single, seeks
from contextecho.untrusted import one_line

_LONGEST: Final = 200  # characters of what a stranger's error says
T = TypeVar("T")


def guarded(reader: Reader, package: str) -> GuardedSingle | GuardedSeveral:
    """The reader that `package` brought."""
    guard = Guard(reader.NAME, package)
    return GuardedSingle(reader, guard) if is_single(reader) else GuardedSeveral(reader, guard)


def told(error: BaseException) -> str:
    """What another package raised, on one line."""
    return f"{type(error).__name__}: {one_line(str(error))[:_LONGEST]}".removesuffix(": ")


class Guard:
    """Turns what a reader raises and may not into a `PassingError`: it goes when it is mended."""

    def __init__(self, name: str, package: str) -> None:
        self.name = name
        self.package = package

    @contextmanager
    def __call__(
        self, path: Path | None = None, let: tuple[type[Exception], ...] = ()
    ) -> Iterator[None]:
        """Let through what it may raise: `SessionError`, and what `let` names."""
        try:
            yield
        except (SessionError, MemoryError):
            raise
        except let:
            raise
        except (Exception, SystemExit) as error:
            raise self.failure(told(error), path) from error

    def failure(self, reason: str, path: Path | None) -> PassingError:
        """The error of the file; a list shows no more of it than what is wrong."""
        return PassingError(
            f"cannot be read: the reader {self.name} failed: {reason}; "
            f"report it to the package {self.package}, or uninstall that",
            where="" if path is None else str(lies_at(path)),
        )

    def checked(self, value: Any, type: type[T], path: Path) -> T:
        """What the reader gave, if it is what it has to give."""
        if isinstance(value, type):
            return value
        raise self.failure(f"it gave no {type.__name__}", path)


class _Guarded:
    """What both kinds have."""

    def __init__(self, reader: Reader, guard: Guard) -> None:
        self.NAME = guard.name
        self.package = guard.package
        self._sniff: Callable[[bytes], bool] = reader.sniff
        self._guard = guard

    def sniff(self, head: bytes) -> bool:
        """As the reader says. Raises `PassingError` without a place when it fails."""
        with self._guard():
            return bool(self._sniff(head))

    def _held(self, given: Any, path: Path) -> Session:
        session = self._guard.checked(given, Session, path)
        kind = GuardedSpread if isinstance(session.source, Spread) else GuardedSource
        return replace(session, source=kind(session.source, self._guard, path))


class GuardedSingle(_Guarded):
    """A reader of files that hold one session."""

    def __init__(self, reader: Single, guard: Guard) -> None:
        super().__init__(reader, guard)
        self._read = reader.read

    def read(self, path: Path) -> Session:
        """As the reader does."""
        with self._guard(path, let=(OSError,)):
            return self._held(self._read(path), path)


class GuardedSeveral(_Guarded):
    """A reader of files that may hold several."""

    def __init__(self, reader: Several, guard: Guard) -> None:
        super().__init__(reader, guard)
        self.SEEKS = seeks(reader)
        self._reader = reader

    def members(self, path: Path) -> Sequence[str]:
        """As the reader does."""
        with self._guard(path, let=(OSError,)):
            return [self._guard.checked(n, str, path) for n in self._reader.members(path)]

    def read_member(self, path: Path, member: str) -> Session:
        """As the reader does."""
        with self._guard(path, let=(OSError,)):
            return self._held(self._reader.read_member(path, member), path)


class GuardedSource:
    """Where a session of such a reader has its content."""

    def __init__(self, source: Source, guard: Guard, path: Path) -> None:
        self._source = source
        self._guard = guard
        self._path = path

    @property
    def sha256(self) -> str:
        """As the reader's source says."""
        with self._guard(self._path):
            return self._source.sha256

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """As the reader's source gives it."""
        with self._guard(self._path):
            yield from self._source.contents(turns)

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """As the reader's source gives them."""
        with self._guard(self._path):
            yield from self._source.records(first_line, last_line)


class GuardedSpread(GuardedSource):
    """The same for a session that lies in several files."""

    def __init__(self, source: Any, guard: Guard, path: Path) -> None:
        super().__init__(source, guard, path)
        self.files: Sequence[Path] = source.files
