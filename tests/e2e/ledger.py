"""What lies in a store, read with plain SQL as docs/store.md describes it, by none of our code."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

FILE = Path(".contextecho") / "store.sqlite"


def query(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """The rows of a query on the store in `folder`."""
    with closing(sqlite3.connect(folder / FILE)) as db:
        return db.execute(sql).fetchall()


def settled_texts(folder: Path) -> list[str]:
    """The text of every reply that settles its request."""
    rows = query(
        folder,
        "SELECT text FROM reply JOIN attempt ON attempt.id = reply.attempt WHERE settled",
    )
    return [str(text) for (text,) in rows]


def attempts(folder: Path) -> int:
    """Calls begun, lost ones included."""
    ((count,),) = query(folder, "SELECT count(*) FROM attempt")
    assert isinstance(count, int)
    return count
