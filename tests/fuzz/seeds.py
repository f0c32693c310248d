"""What a fuzz run begins with: pieces of files, each small enough to be tried often."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from sessions.looking import format_of

SQLITE = b"SQLite format 3\x00"
SEED_BYTES = 24_000
_MOST_ITEMS, _LONGEST_TEXT = 12, 300  # of a document that is larger


def seeds(folders: Collection[Path], only: Collection[str]) -> Iterator[bytes]:
    """Each piece of each file once; with `only`, of files in these formats."""
    seen = set()
    for path in sorted(p for folder in folders for p in folder.rglob("*") if p.is_file()):
        if only and format_of(path) not in only:
            continue
        for piece in pieces(path):
            digest = sha256(piece).digest()
            if digest not in seen:
                yield piece
            seen.add(digest)


def pieces(path: Path) -> Iterator[bytes]:
    """A small database or document as it is, a larger one made smaller; of lines, some."""
    data = path.read_bytes()
    if data.startswith(SQLITE):
        yield _small_database(path)
    elif len(data) <= SEED_BYTES:
        yield data
    else:
        try:
            yield json.dumps(_smaller(json.loads(data))).encode()
        except (ValueError, RecursionError):
            yield from _some_lines(data)


def _some_lines(data: bytes) -> Iterator[bytes]:
    """The beginning, the middle and the end, cut at lines where there are any."""
    yield data[:SEED_BYTES]
    if len(data) > 2 * SEED_BYTES:
        middle = data.find(b"\n", len(data) // 2) + 1
        yield data[:2000].rpartition(b"\n")[0] + b"\n" + data[middle : middle + SEED_BYTES]
        yield data[-SEED_BYTES:].partition(b"\n")[2]


def _smaller(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _smaller(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_smaller(item) for item in value[:_MOST_ITEMS]]
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


def _small_database(path: Path) -> bytes:
    """The database in the smallest pages, so that all of it can be tried; else as it is."""
    with tempfile.TemporaryDirectory() as room, suppress(sqlite3.Error):
        small = Path(room) / "small"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA page_size = 512")
            database.execute("VACUUM INTO ?", (str(small),))
        return small.read_bytes()
    return path.read_bytes()
