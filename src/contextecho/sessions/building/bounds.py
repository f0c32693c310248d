"""How much of a file is read at once.

The one thing to know: whatever stands on one line, or in one document, must fit into
memory several times over. What is longer is refused before it is tried, and so is an
array of more elements than any session has: a few bytes make an object of hundreds.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from contextecho.errors import SessionError

LONGEST_HEAD: Final = 1 << 25
"""Bytes of a first record, or of a document, that are looked at to tell the format."""
LONGEST_VALUE: Final = 1 << 29
"""Bytes of a line that are tried."""
MOST_ELEMENTS: Final = 1 << 18
"""Elements of one array, such as the messages of a document, that are taken in."""
_CHUNK: Final = 1 << 20


def refuse_long_lines(path: Path) -> None:
    """Raises `SessionError` for a file with a line of more than `LONGEST_VALUE` bytes.

    Looked for is the last end of a line in each stretch of that length, from its end on:
    that costs no more than the line that the stretch ends in.
    """
    begin, size = 0, path.stat().st_size
    if size <= LONGEST_VALUE:
        return
    with path.open("rb") as file:
        while size - begin > LONGEST_VALUE:
            end = _last_end(file, begin, begin + LONGEST_VALUE + 1)
            if end is None:
                raise SessionError(
                    f"more than {LONGEST_VALUE >> 20} MB stand on one line, too much to be read",
                    where=f"{path}, byte {begin:,}",
                    todo="if a crash left NUL bytes there, take them out of a copy: "
                    "tr -d '\\000' < FILE > COPY",
                )
            begin = end + 1


def _last_end(file: BinaryIO, begin: int, stop: int) -> int | None:
    """Where the last line ends that ends between these bytes."""
    while begin < stop:
        place = max(begin, stop - _CHUNK)
        file.seek(place)
        found = file.read(stop - place).rfind(b"\n")
        if found >= 0:
            return place + found
        stop = place
    return None
