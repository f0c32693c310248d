"""Opening a session file: find the reader for it by its content, and read.

The one thing to know: a file's name decides nothing. A file that holds several
sessions is never read as one of them: `path#member` says which.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fsencode
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from contextecho.errors import PassingError, SessionError
from contextecho.own_files import refuse_endless
from contextecho.sessions.building.bounds import LONGEST_HEAD, refuse_long_lines
from contextecho.sessions.building.databases import MAGIC, is_database, tables_of
from contextecho.sessions.building.jsontext import BROKEN, decode_json
from contextecho.sessions.building.stamp import unreadable
from contextecho.sessions.model import Session
from contextecho.sessions.naming import name_of, split_name
from contextecho.sessions.packing import packed
from contextecho.sessions.readers import Reader, is_single, seeks
from contextecho.sessions.registry import readers
from contextecho.untrusted import make_visible

DAMAGED: Final = "a JSON document that was cut or is damaged"
"""What the error for a file that is no session begins with, where that may be the reason."""

_LEAST: Final = '[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'
_MOST_NAMED: Final = 5  # sessions of a file, where another is asked for
_HEAD: Final = 1 << 16
_BLANK: Final = b" \t\r\n\0"


def read_session(name: str | PathLike[str], *, format: str | None = None) -> Session:
    """Index the conversation in a file: `path`, or `path#member` for one of several.

    `format` names a reader and skips the search for one. Raises `SessionError`,
    and nothing else, whatever the bytes are.
    """
    path, member = split_name(name)
    held = _held(path, format)
    names = held.members()
    if member is None and len(names) > 1:
        raise SessionError(
            f"holds {len(names):,} sessions",
            where=str(path),
            todo=f"name one of them, as in {name_of(path, names[0])}; "
            f"contextecho sessions list {path} shows them",
        )
    held.refuse_strangers(member)
    return held.read(member if len(names) > 1 else None)


def _some(names: Sequence[str]) -> str:
    """The first names of many, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def members_of(path: Path, *, format: str | None = None) -> Sequence[str | None]:
    """The sessions in a file by the names that tell them apart; `None` for the only one.

    Raises `SessionError`, whatever the bytes are.
    """
    return _held(path, format).members()


def _held(path: Path, format: str | None) -> Held:
    with _failing_readably(path), packed.plain(path) as plain:
        return Held(path, _reader(plain, format), is_packed=plain != path)


class Held:
    """A file whose format is known: its sessions are read one after the other."""

    def __init__(self, path: Path, reader: Reader, *, is_packed: bool) -> None:
        self._path = path
        self._reader = reader
        self._is_packed = is_packed
        self._names: Sequence[str] = ()

    @property
    def format(self) -> str:
        """The reader's name."""
        return self._reader.NAME

    def members(self) -> Sequence[str | None]:
        """As `members_of`."""
        if not is_single(self._reader):
            with self._plain() as plain:
                self._names = self._reader.members(plain)
        return self._names if len(self._names) > 1 else (None,)

    def refuse_strangers(self, member: str | None) -> None:
        """Raises `SessionError` for a name that none of `members()` has."""
        if member is None or member in self._names:
            return
        if is_single(self._reader):
            where, todo = str(self._path), "name the file"
            raise SessionError("holds one session only", where=where, todo=todo)
        raise SessionError(
            "holds no such session",
            where=name_of(self._path, member),
            todo=f"it holds {_some(self._names)}",
        )

    def text_size(self) -> int | None:
        """The bytes of the content, unpacked, of what is read anew for each session.

        None of what is no JSON (a database, an archive), and where the reader seeks. Raises
        `SessionError`.
        """
        if seeks(self._reader):
            return None
        with self._plain() as plain:
            is_json = _read_head(plain).removeprefix(BOM_UTF8).lstrip().startswith((b"[", b"{"))
            return plain.stat().st_size if is_json else None

    def read(self, member: str | None) -> Session:
        """One of `members()`. Raises `SessionError`."""
        with self._plain() as plain:
            if is_single(self._reader):
                session = self._reader.read(plain)
            elif self._names:
                session = self._reader.read_member(plain, member or self._names[0])
                session = replace(session, member=member)
            else:
                raise SessionError("holds no conversation", where=str(self._path))
            return packed.holding_copy(session, self._path) if self._is_packed else session

    @contextmanager
    def _plain(self) -> Iterator[Path]:
        """The file to be read: whether it is packed is asked once, not for every session."""
        with _failing_readably(self._path):
            if self._is_packed:
                with packed.plain(self._path) as plain:
                    yield plain
            else:
                yield self._path


def open_file(path: Path) -> Held:
    """Find the reader of a file. Raises `SessionError` if there is none, and `OSError`."""
    head = _read_head(path)
    if not packed.begins_packed(head[:4], path):
        return Held(path, _told_by(path, head), is_packed=False)
    with packed.plain(path) as plain:
        return Held(path, _reader(plain, None), is_packed=True)


@contextmanager
def _failing_readably(path: Path) -> Iterator[None]:
    """What the system says about a file, or its name is, as a `SessionError` that names it."""
    _refuse_unnameable(path)
    try:
        yield
    except SessionError as error:
        if error.where:
            raise
        raise type(error)(error.what, where=str(path), todo=error.todo) from error.__cause__
    except OSError as error:
        raise unreadable(path, error) from None
    except MemoryError:
        todo = "close other programs, or raise the limit that this one runs under"
        raise PassingError("needs more memory than there is", where=str(path), todo=todo) from None


def _refuse_unnameable(path: Path) -> None:
    """Raises `SessionError` for a name that no file can have."""
    try:
        is_name = b"\0" not in fsencode(path)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise SessionError("is no name that a file can have", where=make_visible(str(path)))


def _read_head(path: Path) -> bytes:
    """The first 64 kB of a file that are not blank, and the rest of the line they end in."""
    refuse_endless(path)
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not is_database(head):
            refuse_long_lines(path)  # before blanks are passed over: there may be gigabytes
        while head and not head.strip(_BLANK):
            head = file.read(_HEAD)
        return head + file.readline(LONGEST_HEAD)


def _reader(path: Path, format: str | None) -> Reader:
    """The reader for a file: the one named, or the one that knows it."""
    if path.is_dir():
        raise SessionError(
            "is a directory, not a session",
            where=str(path),
            todo=f"contextecho sessions list {path}",
        )
    head = _read_head(path)
    if format is None or not head:
        return _told_by(path, head)
    named = next((reader for reader in readers() if format == reader.NAME), None)
    if named is not None:
        return named
    known = ", ".join(sorted(reader.NAME for reader in readers()))
    raise SessionError(f"no such session format: {format}", todo=f"known: {known}")


def _told_by(path: Path, head: bytes) -> Reader:
    """The reader that knows a file by its head."""
    if not head:
        raise SessionError("is empty, and holds no conversation", where=str(path))
    found = _fitting(path, head)
    if found is not None:
        return found
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise SessionError("is text in UTF-16", where=str(path), todo="save it as UTF-8")
    what = "a binary file, and " if b"\x00" in head else ""
    if not what and _is_damaged_document(path, head):
        what = f"{DAMAGED}, and "
    raise SessionError(
        f"{what}not a session in any format this version reads",
        where=str(path),
        todo=f"a chat file is at least {_LEAST}; docs/formats.md has the other formats",
    )


def _fitting(path: Path, head: bytes) -> Reader | None:
    """The reader for a file: told by its head, or by more of it.

    That is more of a document spread over lines, or the tables of a database. Raises as
    `databases.reading`, and `PassingError` where none knows it and another package's failed.
    """
    failures: list[PassingError] = []
    found = _knowing(head, failures)
    if found is None and is_database(head):
        # Its tables may lie anywhere in it, or only in the log beside it.
        found = _knowing(MAGIC + b"\n".join(tables_of(path)), failures)
    elif found is None and _is_spread_out(head):
        # One message, or what stands before the first, can be longer than the head.
        with path.open("rb") as file:
            data = file.read(LONGEST_HEAD)
        found = _knowing(data, failures)
    if found is None and failures:
        raise PassingError(failures[0].what, where=str(path)) from failures[0]
    return found


def _knowing(head: bytes, failures: list[PassingError]) -> Reader | None:
    """The first reader that knows the file; one that fails at that does not, and is noted."""
    for reader in readers():
        try:
            if reader.sniff(head):
                return reader
        except PassingError as failure:
            failures.append(failure)
        except SessionError:  # too many of anything to be a session
            continue
    return None


def _is_damaged_document(path: Path, head: bytes) -> bool:
    """Whether a file of which the head is all begins a JSON document, and holds none."""
    is_all = len(head) == path.stat().st_size
    return is_all and _is_spread_out(head) and decode_json(head) is BROKEN


def _is_spread_out(head: bytes) -> bool:
    """Whether the file begins a JSON document that its first line does not end."""
    first = next(
        (line.strip() for line in head.removeprefix(BOM_UTF8).split(b"\n") if line.strip()), b""
    )
    return first.startswith((b"[", b"{")) and decode_json(first) is BROKEN
