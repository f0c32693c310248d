"""Files that are another file of the same list again: kept, or converted, by this program.

The one thing to know: what a kept or converted session was made from is told by sizes and
hashes that were written with it, and compared with the files that are there now. A copy of
what a session was before it went on is no copy of it, and stays in the list.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from contextecho.errors import SessionError

if TYPE_CHECKING:
    from contextecho.sessions.finding.walking import Candidate
    from contextecho.sessions.packing.archive import KeptFile

_HEADS: Final = (b'{"format":"contextecho.session/', b'{"version":2', b"PK\x03\x04")
_PEEK: Final = 1 << 12
_LONGEST: Final = 1 << 26  # bytes of a header's line
_IN_LOG: Final = re.compile(rb'"metadata":\{"contextecho":(\{[^{}]*\})')


class _Made(Struct):
    """What a converted session says of the file that it was made from."""

    sha256: str
    bytes: int


class _File(Struct, frozen=True):
    """A file of the original, as it was."""

    name: str  # below the folder of them all; empty where it is the only one
    sha256: str
    bytes: int
    written: tuple[str, int] | None = None  # its last name and time: if both fit, it is not read


def copies_among(files: Sequence[Candidate], named: Collection[str]) -> frozenset[str]:
    """The paths of the files that say that they were made from others of the files.

    Those that the user `named` are none.
    """
    originals = {
        file.path: original
        for file in files
        if file.path not in named and (original := _original_of(file.path))
    }
    if not originals:
        return frozenset()
    by_size = defaultdict[int, list[str]](list)
    for file in files:
        if file.path not in originals:
            by_size[file.mark.bytes].append(file.path)
    hashes: dict[str, str] = {}
    return frozenset(
        path
        for path, original in originals.items()
        if any(_is_same(other, original, hashes) for other in by_size[original[0].bytes])
    )


def _original_of(path: str) -> tuple[_File, ...]:
    """The files that this one was made from, the session's own first; none for most."""
    if path.endswith(".zst"):
        kept = _kept_files(path)
        return tuple(_kept(file, is_alone=len(kept) == 1) for file in kept)
    if not path.endswith((".jsonl", ".json", ".eval")):
        return ()
    try:
        made = _made_from(path)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return ()
    return () if made is None else (_File("", made.sha256, made.bytes),)


def _kept_files(path: str) -> Sequence[KeptFile]:
    """What was kept as this file; of a database only rows are, which are no file that is there."""
    from contextecho.sessions.packing.archive import kept_with, manifest_in, session_file_in

    folder, _ = kept_with(Path(path))
    manifest = manifest_in(folder)
    if manifest is None or manifest.member is not None or session_file_in(folder) != Path(path):
        return ()
    return manifest.files


def _kept(file: KeptFile, *, is_alone: bool) -> _File:
    name = "" if is_alone else file.name
    written = (file.name.rpartition("/")[2], file.modified_ns)
    return _File(name, file.sha256, file.bytes, written)


def _made_from(path: str) -> _Made | None:
    """Whose conversion a file is; of most files a few bytes are read."""
    handle = os.open(path, os.O_RDONLY)  # thousands of times: a file object each takes longer
    try:
        head = os.read(handle, len(_HEADS[0]))
        if not head.startswith(_HEADS):
            return None
        head += os.read(handle, _PEEK)
    finally:
        os.close(handle)
    if head.startswith(_HEADS[0]):
        with open(path, "rb") as lines:  # noqa: PTH123
            return msgspec.json.decode(lines.readline(_LONGEST), type=_Made)
    found = _IN_LOG.search(_start_of(path) if head.startswith(_HEADS[2]) else head)
    return None if found is None else msgspec.json.decode(found[1], type=_Made)


def _start_of(path: str) -> bytes:
    """What a log that is a zip file began with; nothing of one that is damaged."""
    from contextecho.sessions.packing.zipped import beginning_of, open_zip

    with suppress(SessionError), open(path, "rb") as file:  # noqa: PTH123
        entry = open_zip(file, path).NameToInfo.get("_journal/start.json")
        return b"" if entry is None else beginning_of(file, entry, _PEEK, path)
    return b""


def _is_same(path: str, original: tuple[_File, ...], hashes: dict[str, str]) -> bool:
    """Whether the file, and those that belong to it, are what the original's were."""
    if not path.endswith(original[0].name):
        return False
    root = path.removesuffix(original[0].name)
    return all(_is_still(root + file.name, file, hashes) for file in original)


def _is_still(path: str, file: _File, hashes: dict[str, str]) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116
        if status.st_size != file.bytes:
            return False
        if (os.path.basename(path), status.st_mtime_ns) == file.written:  # noqa: PTH119
            return True
        if path not in hashes:
            hashes[path] = _sha256(path)
    except OSError:
        return False
    return hashes[path] == file.sha256


def _sha256(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()
