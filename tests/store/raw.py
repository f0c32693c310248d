"""Looking into a store past the program: SQL on the SQLite file or the PostgreSQL database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any


def query(place: str | Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; none for a change, which is kept."""
    if "://" in str(place):
        return _query_postgres(str(place), sql)
    file = Path(place)
    with closing(sqlite3.connect(file / "store.sqlite" if file.is_dir() else file)) as db:
        rows = db.execute(sql).fetchall()
        db.commit()
        return rows


def _query_postgres(url: str, sql: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        cursor = db.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def count(place: str | Path, table: str) -> int:
    """How many rows a table has."""
    return int(query(place, f"SELECT count(*) FROM {table}")[0][0])


def everything(place: str | Path, tables: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of some tables, in a fixed order."""
    return {table: sorted(query(place, f"SELECT * FROM {table}"), key=repr) for table in tables}
