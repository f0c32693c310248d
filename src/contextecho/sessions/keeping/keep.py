"""Keeping a session before its client deletes it: packed, verified, never overwritten.

The one thing to know: each state of a session is a folder of its own, named by when the
file changed last and by a hash of everything in it, so that the same content is kept
once and a session that went on is kept beside what it was:

    FOLDER/<client>/<session id>/<changed>-<hash>/<file>.zst       and its sub-agents, packed
                                                  manifest.json    where from, hashes, sizes
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.sessions.building.belonging import absolute, files_of
from contextecho.sessions.building.stamp import Stamp, unreadable
from contextecho.sessions.keeping.rows import copy_rows, is_database
from contextecho.sessions.model import Session
from contextecho.sessions.naming import name_of, split_name
from contextecho.sessions.packing.archive import (
    FORMAT,
    MANIFEST,
    KeptFile,
    Manifest,
    manifest_in,
    session_file_in,
    written,
)
from contextecho.sessions.packing.packed import is_packed, unpacked_parts
from contextecho.sessions.reading import Held, open_file, read_session
from contextecho.untrusted import make_visible

_LEVEL: Final = 10  # of zstd: a session of 300 MB takes seconds, and little is gained beyond
_CHUNK: Final = 1 << 20
_OWNER_ONLY: Final = 0o600
_SAFE_ID: Final = re.compile(r"[0-9a-z_-]{1,80}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")  # no name of a file on Windows


class Kept(Struct, frozen=True):
    """Where a session is kept now."""

    path: Path  # of the session's own file, packed
    manifest: Manifest
    already: bool  # the same content was there before


def sessions_to_keep(name: Path) -> Iterator[Session | SessionError]:
    """The session that a name means; of a file that holds several, what keeps them all.

    That is each session of a database, and any session of another file, which is kept
    whole. One that cannot be read is given as its error, and hides no other.
    """
    path, member = split_name(name)
    if member is not None:
        yield _unless_unread(lambda: _standing(read_session(name)))
        return
    try:
        held = open_file(path)
        members = held.members()
    except SessionError as error:
        yield error
        return
    except OSError as error:
        yield unreadable(path, error)
        return
    if len(members) > 1 and not is_database(path):
        yield _unless_unread(lambda: _standing(_first_readable(held, members)))
        return
    for each in members:
        yield _unless_unread(partial(held.read, each))


def _unless_unread(reading: Callable[[], Session]) -> Session | SessionError:
    try:
        return reading()
    except SessionError as error:
        return error


def keep_session(session: Session, folder: Path) -> Kept:
    """Keep a session and what belongs to it below `folder`.

    Raises `SessionError` when it is an archive already, or when a file cannot be read,
    written, or read back as it was.
    """
    try:
        if is_packed(session.path):
            raise SessionError("is packed already, and so kept", where=str(session.path))
        place = folder / _plain(session.format) / folder_name(session)
        _make_private(place)
        new = Path(mkdtemp(prefix=".keeping-", dir=place))
        try:
            return _keep(session, place, new)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # nothing is there once it has its name
    except OSError as error:
        raise _failed(error, folder) from None


def _failed(error: OSError, folder: Path) -> SessionError:
    """Why nothing was kept: a file cannot be read, or the folder not be written."""
    place = Path(error.filename or folder)
    if not place.is_relative_to(folder):
        return unreadable(place, error)
    reason = (error.strerror or type(error).__name__).lower()
    return SessionError(f"cannot be written: {reason}", where=str(folder), todo="name another --to")


def folder_name(session: Session) -> str:
    """A folder's name for a session: its id, readable, for any file system, and its own.

    An id that is no more than the name of a file has a hash of that file's folder behind
    it; one with other characters than names have everywhere has a hash of itself.
    """
    owner = ""
    if session.id == make_visible(session.path.stem) and not _UUID.search(session.id):
        owner = str(absolute(session.path).parent)
    if not owner and _SAFE_ID.fullmatch(session.id) and not _DEVICE.fullmatch(session.id):
        return session.id
    readable = re.sub(r"[^0-9A-Za-z_-]+", "_", session.id)[:60].strip("_") or "session"
    said = f"{owner}\n{session.id}".encode("utf-8", "surrogatepass")
    return f"{readable}-{hashlib.sha256(said).hexdigest()[:8]}"


def _keep(session: Session, place: Path, new: Path) -> Kept:
    """Pack everything in the folder `new`, then give that its name in one step."""
    sources = dict(_files(session, new))
    there = _kept_before(place, _digest((name, _sha256(file)) for name, file in sources.items()))
    if there is not None:
        return there
    files = [_pack(file, new / name, name) for name, file in sources.items()]
    if is_database(session.path):
        sources[files[0].name].unlink()  # the rows, which lie there packed now
    digest = _digest((file.name, file.sha256) for file in files)
    manifest = Manifest(
        format=FORMAT,
        id=session.id,
        source_format=session.format,
        path=make_visible(str(absolute(session.path))),
        member=session.member,
        kept=_iso(time.time()),
        files=tuple(files),
    )
    _write(new / MANIFEST, written(manifest))
    final = place / f"{_iso(files[0].modified_ns / 1e9).replace(':', '')}-{digest}"
    try:
        new.rename(final)
    except OSError:
        there = _kept_before(place, digest)  # by another process, a moment ago
        if there is not None:
            return there
        final = _further(final)  # what bears the name is damaged
        new.rename(final)
    return Kept(final / f"{files[0].name}.zst", manifest, already=False)


def _kept_before(place: Path, digest: str) -> Kept | None:
    """What is kept there with this content, and still is what it was."""
    for folder in sorted(place.glob(f"*-{digest}*")):
        manifest, path = manifest_in(folder), session_file_in(folder)
        if manifest is not None and path is not None and _is_whole(folder, manifest):
            return Kept(path, manifest, already=True)
    return None


def _is_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether every packed file can be read back as it was kept."""
    try:
        return all(
            _hash_of(unpacked_parts(folder / f"{file.name}.zst")) == file.sha256
            for file in manifest.files
        )
    except (OSError, SessionError):
        return False


def _further(folder: Path) -> Path:
    """The folder's name with the next free number."""
    return next(n for i in count(2) if not (n := folder.with_name(f"{folder.name}-{i}")).exists())


def _standing(session: Session) -> Session:
    """What stands for a session of several: the file with its name, unless rows can be kept."""
    if is_database(session.path):
        return session
    return replace(session, id=make_visible(session.path.stem), member=None)


def _first_readable(held: Held, members: Sequence[str | None]) -> Session:
    """One session of a file that holds several. Raises the last one's `SessionError`."""
    for member in members[:-1]:
        with suppress(SessionError):
            return held.read(member)
    return held.read(members[-1])


def _files(session: Session, new: Path) -> Iterator[tuple[str, Path]]:
    """(name in the archive, file) of the session itself and of all that belongs to it."""
    path = absolute(session.path)
    if is_database(path):
        rows = new / _file_name(session)
        copy_rows(path, rows, {session.id, session.member or session.id})
        _refuse_other(session, rows)
        changed = path.stat().st_mtime_ns
        os.utime(rows, ns=(changed, changed))
        yield rows.name, rows
        return
    others = files_of(session) - {path}
    root = Path(os.path.commonpath([file.parent for file in (path, *others)]))
    taken: set[str] = set()
    for file in (path, *sorted(others)):
        name = "/".join(map(_plain, file.relative_to(root).parts))
        name = _untaken(name, taken)
        taken.add(name)
        yield name, file


def _refuse_other(session: Session, rows: Path) -> None:
    """Raises `SessionError` unless the rows are read as the session, which may have gone on."""
    where = name_of(session.path, session.member or session.id)
    try:
        kept = _told(read_session(name_of(rows, session.member)))
    except SessionError as error:
        raise SessionError(f"its rows alone are no session: {error.what}", where=where) from None
    if kept != _told(session) and kept != _told(read_session(session.name)):
        raise SessionError(
            "its rows alone are not read as the session",
            where=where,
            todo="close the client and run the command again, or copy the database by hand",
        )


def _told(session: Session) -> tuple[object, ...]:
    """What is the same of a session wherever its rows lie."""
    agents = [(agent.agent_id, agent.records) for agent in session.sidechains]
    return session.turns, session.prompts, session.steps, sorted(agents)


def _untaken(name: str, taken: set[str]) -> str:
    """The name, or with a number where another file's has become the same."""
    further = (f"{name}~{again}" for again in count(2))
    return next(one for one in chain((name,), further) if one not in taken)


def _pack(source: Path, target: Path, name: str) -> KeptFile:
    """Pack a file as long as it is now, and read it back. Its time is kept, its mode is not."""
    from contextecho.sessions.packing.zstandard import zstd

    packed = target.with_name(f"{target.name}.zst")
    _make_private(packed.parent)
    digest = hashlib.sha256()
    with source.open("rb") as file:
        stamp = Stamp.of(file)
        with packed.open("xb") as raw, zstd.open(raw, "wb", level=_LEVEL) as written:
            for part in _parts(file, stamp.size, source):
                digest.update(part)
                written.write(part)
    packed.chmod(_OWNER_ONLY)
    _flush(packed)
    if _hash_of(unpacked_parts(packed)) != digest.hexdigest():
        raise SessionError("was not written as it is: the disk may be failing", where=str(packed))
    os.utime(packed, ns=(stamp.modified_ns, stamp.modified_ns))
    return KeptFile(name, digest.hexdigest(), stamp.size, packed.stat().st_size, stamp.modified_ns)


def _parts(file: BinaryIO, size: int, source: Path) -> Iterator[bytes]:
    """`size` bytes of an open file; what a client appends meanwhile is for the next time."""
    left = size
    while left:
        part = file.read(min(_CHUNK, left))
        if not part:
            raise SessionError(
                "became shorter while it was read", where=str(source), todo="run the command again"
            )
        left -= len(part)
        yield part


def _hash_of(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(named: Iterable[tuple[str, str]]) -> str:
    """Twelve digits that name the content of all files together, from names and hashes."""
    return hashlib.sha256(msgspec.json.encode(list(named))).hexdigest()[:12]


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner only."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(_OWNER_ONLY)
    _flush(path)


def _flush(path: Path) -> None:
    """To the disk: the client may delete the original the next moment."""
    with path.open("rb") as file, suppress(OSError):  # some file systems cannot
        os.fsync(file.fileno())


def _file_name(session: Session) -> str:
    """The name of the file; of a database, that of the session in it."""
    if is_database(session.path):
        return f"{_plain(session.member or session.id)}.db"
    return _plain(session.path.name)


def _plain(name: str) -> str:
    """A name that can be part of a path anywhere."""
    kept = "".join(c if c.isalnum() or c in "-_. +@" else "_" for c in make_visible(name))
    return kept.strip(" .")[:150] or "_"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
