"""How much of a file is read at once.

The one thing to know: whatever stands on one line, or in one document, must fit into
memory several times over. What is longer is refused before it is tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from contextecho.errors import SessionError

LONGEST_HEAD: Final = 1 << 25
"""Bytes of a first record, or of a document, that are looked at to tell the format."""
LONGEST_VALUE: Final = 1 << 29
"""Bytes without a line's end that are tried; a line of twice as many never is."""
_CHUNK: Final = 1 << 20


def refuse_long_lines(path: Path) -> None:
    """Raises `SessionError` for a file with a line that would not fit into memory.

    Such a line covers one of the stretches looked at here whole; of other files each
    stretch costs no more than the line that it begins in.
    """
    size = path.stat().st_size
    if size <= LONGEST_VALUE:
        return
    with path.open("rb") as file:
        for place in range(0, size - LONGEST_VALUE + 1, LONGEST_VALUE):
            file.seek(place)
            if not _ends_a_line(file):
                raise SessionError(
                    f"{LONGEST_VALUE >> 20} MB and more stand on one line, too much to be read",
                    where=f"{path}, byte {place:,}",
                    todo="if a crash left NUL bytes there, take them out of a copy: "
                    "tr -d '\\000' < FILE > COPY",
                )


def _ends_a_line(file: BinaryIO) -> bool:
    """Whether a line ends within the next stretch."""
    return any(b"\n" in file.read(_CHUNK) for _ in range(LONGEST_VALUE // _CHUNK))
