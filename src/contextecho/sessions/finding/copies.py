"""Files that are another file of the same list again: kept or converted by this program, or copied.

The one thing to know: what a kept or converted session was made from is told by sizes and
hashes that were written with it, and compared with the files that are there now. What a
session was before it went on is no copy of it (`earlier` tells which are). A file that
something else copied to another folder has its name and its bytes; the one met first stays.
Content is told by its hash alone: a name, a size and a time can be those of other content.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.finding.hashes import Hashes
from contextecho.sessions.finding.summary import Original
from contextecho.sessions.finding.walking import Candidate

if TYPE_CHECKING:
    from contextecho.sessions.packing.archive import KeptFile, Manifest

_ROWS: Final = ".db"
_HEADS: Final = (b'{"format":"contextecho.session/', b'{"version":2', b"PK\x03\x04")
_PEEK: Final = 1 << 12
_LONGEST: Final = 1 << 26  # bytes of a header's line
_IN_LOG: Final = re.compile(rb'"metadata":\{"contextecho":(\{[^{}]*\})')


class _Made(Struct):
    """What a converted session says of the file that it was made from."""

    sha256: str
    bytes: int


def copies_among(
    files: Sequence[Candidate],
    originals: Mapping[str, Sequence[Original]],
    hashes: Hashes,
    named: Collection[str] = (),
) -> dict[str, str]:
    """The paths of the files that are others of the files again, with the one that each is.

    `originals` says what files were made from that were kept or converted (`originals_of`);
    `hashes` what is known of the files, and is added to. Files that the user `named` are no
    copies.
    """
    by_size = defaultdict[int, list[Candidate]](list)
    for file in files:
        by_size[file.mark.bytes].append(file)
    copies: dict[str, str] = {}
    for path, original in originals.items():
        for other in by_size.get(original[0].bytes, ()):
            if other.path not in originals and _is_same(other.path, original, hashes):
                copies[path] = other.path
                break
    for same in by_size.values():
        if len(same) > 1 and len({_name(file) for file in same}) < len(same):
            copies |= _copied([file for file in same if _is_alone(file, originals)], hashes)
    return {path: other for path, other in copies.items() if path not in named}


def originals_of(path: str) -> tuple[Original, ...]:
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
    return () if made is None else (Original("", made.sha256, made.bytes),)


def _is_alone(file: Candidate, originals: Mapping[str, Sequence[Original]]) -> bool:
    """Whether nothing that lies beside a file belongs to its content."""
    return not file.mark.later_ns and len(originals.get(file.path, ())) <= 1


def _copied(files: Iterable[Candidate], hashes: Hashes) -> Iterator[tuple[str, str]]:
    """Of files of one size, those with the name and the bytes of an earlier one, and that one."""
    by_name = defaultdict[str, list[str]](list)
    for file in files:
        by_name[_name(file)].append(file.path)
    for same in by_name.values():
        first: dict[str, str] = {}
        for path in same if len(same) > 1 else ():
            with suppress(OSError):
                other = first.setdefault(hashes.whole(path), path)
                if other != path:
                    yield path, other


def _name(file: Candidate) -> str:
    return file.path.rpartition(os.sep)[2]


def are_kept_rows(path: str) -> bool:
    """Whether a file is what was kept of a database: rows, which are no file that is there."""
    return path.endswith(f"{_ROWS}.zst") and _manifest_of(path) is not None


def _kept_files(path: str) -> Sequence[KeptFile]:
    """What was kept as this file, unless that is rows."""
    manifest = None if path.endswith(f"{_ROWS}.zst") else _manifest_of(path)
    return () if manifest is None else manifest.files


def _manifest_of(path: str) -> Manifest | None:
    """What was said of the session that was kept as this file."""
    from contextecho.sessions.packing.archive import kept_with, manifest_in, session_file_in

    folder, _ = kept_with(Path(path))
    return manifest_in(folder) if session_file_in(folder) == Path(path) else None


def _kept(file: KeptFile, *, is_alone: bool) -> Original:
    return Original("" if is_alone else file.name, file.sha256, file.bytes)


def _made_from(path: str) -> _Made | None:
    """Whose conversion a file is; of most files a few bytes are read."""
    with open(path, "rb") as file:  # noqa: PTH123
        head = file.read(_PEEK)
        if head.startswith(_HEADS[0]):
            file.seek(0)
            return msgspec.json.decode(file.readline(_LONGEST), type=_Made)
    if not head.startswith(_HEADS):
        return None
    found = _IN_LOG.search(_start_of(path) if head.startswith(_HEADS[2]) else head)
    return None if found is None else msgspec.json.decode(found[1], type=_Made)


def _start_of(path: str) -> bytes:
    """What a log that is a zip file began with; nothing of one that is damaged."""
    from contextecho.sessions.packing.zipped import beginning_of, open_zip

    with suppress(SessionError), open(path, "rb") as file:  # noqa: PTH123
        entry = open_zip(file, path).NameToInfo.get("_journal/start.json")
        return b"" if entry is None else beginning_of(file, entry, _PEEK, path)
    return b""


def _is_same(path: str, original: Sequence[Original], hashes: Hashes) -> bool:
    """Whether the file, and those that belong to it, are what the original's were."""
    if not path.endswith(original[0].name):
        return False
    root = path.removesuffix(original[0].name)
    return all(_is_still(root + file.name, file, hashes) for file in original)


def _is_still(path: str, file: Original, hashes: Hashes) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116
        return status.st_size == file.bytes and hashes.whole(path) == file.sha256
    except OSError:
        return False
