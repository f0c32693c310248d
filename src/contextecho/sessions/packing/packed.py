"""Sessions packed by zstd or gzip, or in an export's archive: read from a private copy.

The one thing to know: what is packed is told by the first bytes, and everything else is
then as if the file were not packed; only `Session.path` and errors name the packed file.
The copy goes with the session, in a folder of ours that only its owner can read. It is
removed when no session needs it any more, and at the latest when the program ends.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from tempfile import mkdtemp
from typing import Any, BinaryIO, Final, cast

from msgspec.structs import replace

from contextecho.errors import PackedError, SessionError
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Content, Session, Source, Turn
from contextecho.sessions.packing.archive import kept_with, manifest_in
from contextecho.sessions.packing.zipped import ZIP, export_in, open_entry

LARGEST: Final = 1 << 34
"""Bytes that a file may unpack to."""

MOST_TIMES: Final = 1000
"""How much larger than the packed file; what is smaller than `_ALWAYS` may be."""

_ALWAYS: Final = 1 << 26
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_SUFFIXES: Final = (".zst", ".gz")
_CHUNK: Final = 1 << 20
_LIVING: weakref.WeakValueDictionary[Path, Copy] = weakref.WeakValueDictionary()


class Copy:
    """The unpacked copy of one packed file, as long as somebody holds it."""

    def __init__(self, packed: Path) -> None:
        """Unpack it, and what `keep` put beside it. Raises `SessionError`, `OSError`."""
        self._of: dict[Path, Path] = {}
        folder = Path(mkdtemp(prefix="contextecho-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        root, others = kept_with(packed)
        self.path = folder / packed.parent.relative_to(root) / plain_name(packed)
        for file in (packed, *others):
            place = folder / file.parent.relative_to(root) / plain_name(file)
            place.parent.mkdir(parents=True, exist_ok=True)
            _unpack(file, place)
            self._of[place] = file
            _LIVING[place] = self

    @property
    def files(self) -> tuple[Path, ...]:
        """The packed files that it was unpacked from."""
        return tuple(self._of.values())

    def packed(self, path: Path) -> Path:
        """The packed file that a file of the copy was unpacked from."""
        return self._of.get(path, path)


class CopySource:
    """The source of a session that was read from a copy; holds the copy."""

    def __init__(self, source: Source, copy: Copy, packed: Path) -> None:
        self._source = source
        self._copy = copy
        self._packed = packed

    @property
    def sha256(self) -> str:
        """SHA-256 of the unpacked bytes: the same as of the file that was packed."""
        with _naming(self._packed, self._copy.path):
            return self._source.sha256

    @property
    def archived(self) -> tuple[Path, ...]:
        """The session's packed file, and those that were kept with it."""
        return self._copy.files

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        with _naming(self._packed, self._copy.path):
            yield from self._source.contents(turns)

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, raw record) for each record from the first to the last line."""
        with _naming(self._packed, self._copy.path):
            yield from self._source.records(first_line, last_line)


@contextmanager
def plain(path: Path) -> Iterator[Path]:
    """The file itself, or the copy of a packed one. Raises `SessionError`, `OSError`."""
    copy = copy_of(path)
    if copy is None:
        yield path
    else:
        with _naming(path, copy.path):
            yield copy.path


def copy_of(path: Path) -> Copy | None:
    """The copy of a packed file; `None` for one that is not packed, or that cannot be opened.

    Raises `SessionError`, `OSError`.
    """
    try:
        if not is_packed(path):
            return None
        real = Path(os.path.realpath(path))
        with path.open("rb") as file, _naming(path, real):
            return _unpacked(real, Stamp.of(file))
    except (FileNotFoundError, PermissionError):
        return None  # the reader says so


def lies_at(path: Path) -> Path:
    """Where the content of a file lies: in itself, or in the packed file that it is a copy of."""
    copy = _LIVING.get(path)
    return path if copy is None else copy.packed(path)


def holding_copy(session: Session, path: Path) -> Session:
    """The session as that of the file at `path`, holding the copy that it was read from."""
    copy = copy_of(path)
    if copy is None:
        return session
    sidechains = tuple(
        replace(sidechain, path=copy.packed(sidechain.path)) for sidechain in session.sidechains
    )
    files = tuple(replace(file, path=copy.packed(file.path)) for file in session.files)
    source = CopySource(session.source, copy, path)
    return replace(session, path=path, source=source, sidechains=sidechains, files=files)


def is_packed(path: Path) -> bool:
    """Whether a file is zstd or gzip, or the archive of an export. Raises `OSError`."""
    if not S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as file:
        return begins_packed(file.read(4), path)


def begins_packed(head: bytes, path: Path) -> bool:
    """Whether a file that begins like this is packed; of a zip file its directory tells."""
    if not head.startswith(ZIP):
        return head.startswith((_ZSTD, _GZIP))
    with path.open("rb") as file:
        return export_in(file) is not None


def format_said(path: Path) -> str:
    """What a packed file that cannot be unpacked holds: a format if it was kept, or how packed.

    Raises `OSError`.
    """
    folder, _ = kept_with(path)
    manifest = manifest_in(folder)
    if manifest is not None and path == folder / f"{manifest.files[0].name}.zst":
        return manifest.source_format
    with path.open("rb") as file:
        first = file.read(4)
    return {_ZSTD: "zstd", ZIP: "zip"}.get(first, "gzip")


def beginning(path: Path, length: int) -> bytes:
    """The first bytes of a file's content, of a packed one's as far as they can be unpacked."""
    if not is_packed(path):
        with path.open("rb") as file:
            return file.read(length)
    try:
        with _open(path) as content:
            return content.read(length)
    except (EOFError, ValueError):
        return b""


def plain_name(packed: Path) -> str:
    """The name of the file before it was packed."""
    return packed.stem if packed.suffix in _SUFFIXES else packed.name


def unpacked_parts(path: Path) -> Iterator[bytes]:
    """The content of a packed file, part by part. Raises `PackedError` when it is damaged.

    Refuses what unpacks to more than `LARGEST` bytes, or to more than `MOST_TIMES` its size.
    """
    most = max(_ALWAYS, min(LARGEST, MOST_TIMES * path.stat().st_size))
    size = 0
    try:
        with _open(path) as file:
            while part := file.read(_CHUNK):
                size += len(part)
                if size > most:
                    raise PackedError(
                        f"unpacks to more than {most:,} bytes, too many for a session",
                        where=str(path),
                        todo="unpack it yourself if you trust it",
                    )
                yield part
    except (EOFError, ValueError) as error:
        raise PackedError(
            "is damaged and cannot be unpacked: "
            + ("it was cut" if isinstance(error, EOFError) else "its bytes are not as packed"),
            where=str(path),
        ) from None


@lru_cache(maxsize=2)
def _unpacked(path: Path, stamp: Stamp) -> Copy:
    """Kept for the moment between finding a file's sessions and reading one of them."""
    return Copy(path)


def _unpack(packed: Path, place: Path) -> None:
    with place.open("wb") as file:
        file.writelines(unpacked_parts(packed))


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """The unpacked content. Raises `ValueError` or `EOFError` when it is damaged."""
    with path.open("rb") as file:
        first = file.read(4)
        file.seek(0)
        if first == ZIP and (entry := export_in(file)) is not None:
            with open_entry(file, entry) as content:
                yield cast("BinaryIO", content)
        elif first.startswith(_GZIP):
            import gzip
            import zlib

            try:
                with gzip.open(file) as content:
                    yield cast("BinaryIO", content)
            except (gzip.BadGzipFile, zlib.error) as error:
                raise ValueError from error
        else:
            from contextecho.sessions.packing.zstandard import zstd

            try:
                with zstd.open(file) as content:
                    yield cast("BinaryIO", content)
            except zstd.ZstdError as error:
                raise ValueError from error


@contextmanager
def _naming(packed: Path, copy: Path) -> Iterator[None]:
    """Errors name the packed file, not the copy that is nobody's business."""
    try:
        yield
    except SessionError as error:
        where, todo = (text.replace(str(copy), str(packed)) for text in (error.where, error.todo))
        raise type(error)(error.what, where=where, todo=todo) from None
