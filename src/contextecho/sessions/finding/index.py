"""The kept index: what was found in each file, so that a file is read once.

The one thing to know: it is a cache and never believed over a file. An entry holds as
long as the file has the size, the times and the number it had before it was read; one
that was written less than two seconds before is not kept, since a file can change
again within the same tick of its clock, nor is a session that lies in several files, nor
what could not be read for the moment. A cache that is damaged, no file, of another
version or of other readers is empty. It holds summaries and hashes, never text, and only
its owner may read it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from contextecho import __version__
from contextecho.caching import cache_folder
from contextecho.own_files import refuse_endless
from contextecho.sessions.finding.hashes import Hashed
from contextecho.sessions.finding.summary import Summaries
from contextecho.sessions.finding.walking import Candidate, Mark

_LAYOUT: Final = 3
_PACKAGE: Final = (".dist-info", ".egg-info")
_SETTLED_NS: Final = 2_000_000_000


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one file held."""

    mark: Mark
    found: Summaries


class _Kept(msgspec.Struct, array_like=True):
    made_by: bytes
    entries: dict[bytes, Entry]  # by path, as the system's bytes
    hashed: dict[bytes, Hashed]  # likewise


class Index:
    """Summaries by file, as the last command on this machine left them."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the index at `path` (default: in the user's cache); empty if it is none of ours."""
        # Files written after this may be written again without a trace in their times.
        self._settled_ns = time.time_ns() - _SETTLED_NS
        self._path = path or cache_folder() / "sessions.msgpack"
        self._folders: dict[str, bytes] = {}
        self._made_by = _made_by()
        self._kept = self._read()

    def get(self, file: Candidate) -> Summaries | None:
        """What the file held, if it is still what it was."""
        entry = self._kept.entries.get(self._key(file.path))
        return entry.found if entry is not None and entry.mark == file.mark else None

    def hashed(self, path: str) -> Hashed | None:
        """What was found of the bytes of a file, which may be another by now."""
        return self._kept.hashed.get(self._key(path))

    def keep(
        self, found: Mapping[str, Entry], hashed: Mapping[str, Hashed], seen: Iterable[str]
    ) -> None:
        """Add what was read since this index was, and forget the files that are gone.

        `seen` are paths known to exist. What cannot be written is not kept: that costs
        time later, and nothing else.
        """
        new = {
            self._key(path): entry
            for path, entry in found.items()
            if entry.mark.newest_ns < self._settled_ns and entry.found.is_settled
        }
        digests = {
            self._key(path): each
            for path, each in hashed.items()
            if each.mark.newest_ns < self._settled_ns
        }
        exist = {self._key(path) for path in seen}
        old = self._read()  # another process may have written meanwhile
        known = old.entries.keys() | old.hashed.keys()
        gone = {path for path in known if path not in exist and not os.path.lexists(path)}
        if new or digests or gone:
            entries = {path: each for path, each in old.entries.items() if path not in gone} | new
            hashes = {path: each for path, each in old.hashed.items() if path not in gone} | digests
            with suppress(OSError):
                self._write(msgspec.msgpack.encode(_Kept(self._made_by, entries, hashes)))

    def _key(self, path: str) -> bytes:
        """The absolute path, whatever the folder in which it was named."""
        if path.startswith(os.sep):
            return os.fsencode(path)
        above, slash, name = path.rpartition(os.sep)
        folder = above + slash
        if folder not in self._folders:
            self._folders[folder] = os.fsencode(os.path.abspath(folder) + os.sep)  # noqa: PTH100
        return self._folders[folder] + os.fsencode(name)

    def _read(self) -> _Kept:
        nothing = _Kept(self._made_by, {}, {})
        try:
            refuse_endless(self._path)
            kept = msgspec.msgpack.decode(self._path.read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return nothing
        return kept if kept.made_by == self._made_by else nothing

    def _write(self, data: bytes) -> None:
        """All or nothing: whoever reads meanwhile sees the old one."""
        import tempfile

        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".sessions-")  # mode 0600
        try:
            with open(handle, "wb") as file:  # noqa: PTH123 (a descriptor)
                file.write(data)
            os.replace(name, self._path)  # noqa: PTH105
        except BaseException:
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise


def _made_by() -> bytes:
    """What decides how a file is read: this package's version and reading code, others' readers."""
    what = (__version__, str(_LAYOUT), *_own_code(), *_installed())
    return os.fsencode("\n".join(what))


def _own_code() -> Iterator[str]:
    """The files of this room, so that a change of a reader is a change."""
    for folder, _, names in os.walk(Path(__file__).parents[1]):
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118
                yield f"{name}:{status.st_size}:{status.st_mtime_ns}"


def _installed() -> Iterator[str]:
    """The packages that can be imported, with their versions: any may bring a reader.

    Asking each for its readers would take longer than all else that a short list takes.
    """
    for folder in sys.path:
        with suppress(OSError):
            yield from sorted(n for n in os.listdir(folder) if n.endswith(_PACKAGE))  # noqa: PTH208
