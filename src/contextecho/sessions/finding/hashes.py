"""SHA-256 of files and of how they begin, each found once for as long as a file is the same.

The one thing to know: what was found is remembered with the marks of the file (size, times,
number on the disk), and a name, a size and a time that anybody can set are never taken for
its content.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec

from contextecho.sessions.finding.walking import Mark, mark_of

_WHOLE: Final = 0
_CHUNK: Final = 1 << 20


class Hashed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is known of one file."""

    mark: Mark
    # In hexadecimal, by how many bytes of the content (of what a packed file holds, unpacked);
    # at 0 the file's own, all of them.
    sha256: dict[int, str]


class Hashes:
    """What is known of files, and what is found out now."""

    def __init__(self, known: Callable[[str], Hashed | None] = lambda path: None) -> None:
        """`known` says what was found before, which may be of another state of the file."""
        self._known = known
        self.new: dict[str, Hashed] = {}

    def whole(self, path: str) -> str:
        """Of all bytes of a file. Raises `OSError`."""
        return self._of(path, {_WHOLE})[_WHOLE]

    def beginnings(self, path: str, lengths: Collection[int]) -> dict[int, str]:
        """Of so many first bytes of the content, for each length that it has.

        Raises `OSError`, `SessionError` for a packed file that is damaged.
        """
        return self._of(path, lengths)

    def _of(self, path: str, lengths: Collection[int]) -> dict[int, str]:
        mark = mark_of(os.stat(path))  # noqa: PTH116
        found = self.new.get(path) or self._known(path)
        sha256 = found.sha256 if found is not None and found.mark == mark else {}
        missing = {length for length in lengths if length not in sha256}
        if missing:
            sha256 = sha256 | (
                {_WHOLE: _of_all(path)} if missing == {_WHOLE} else dict(_begins(path, missing))
            )
            self.new[path] = Hashed(mark, sha256)
        return sha256


def _of_all(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()


def _begins(path: str, lengths: Collection[int]) -> Iterator[tuple[int, str]]:
    """In one pass over the content, as far as the greatest of the lengths."""
    import hashlib

    digest, done = hashlib.sha256(), 0
    wanted = deque(sorted(lengths))
    for part in _parts(Path(path)):
        rest = memoryview(part)
        while wanted and wanted[0] - done <= len(rest):
            digest.update(rest[: wanted[0] - done])
            rest = rest[wanted[0] - done :]
            done = wanted.popleft()
            yield done, digest.hexdigest()
        if not wanted:
            return
        digest.update(rest)
        done += len(rest)


def _parts(path: Path) -> Iterator[bytes]:
    from contextecho.sessions.packing.packed import is_packed, unpacked_parts

    if is_packed(path):
        yield from unpacked_parts(path)
        return
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            yield part
