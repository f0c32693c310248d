"""The rows of one session of a client's SQLite database, as a small database of their own.

The one thing to know: no schema is known here. A row belongs to the session if one of
its columns names the session; with it come the sessions that have it as their parent,
and the rows that those refer to by a foreign key or a column's name (`project_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from contextecho.errors import SessionError

if TYPE_CHECKING:
    from sqlite3 import Connection

_MAGIC: Final = b"SQLite format 3\x00"
_SESSION: Final = frozenset({"session_id", "sessionid"})
_PARENT: Final = frozenset({"parent_id", "parentid"})

Rows = dict[str, dict[Any, tuple[Any, ...]]]
"""By table, by row number (by the row itself where a table has no numbers)."""

Tables = dict[str, tuple[str, list[str]]]
"""(statement that makes it, columns) of each table."""


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def copy_rows(database: Path, target: Path, ids: set[str]) -> None:
    """Write the rows of the session with one of these ids to a new database.

    Raises `SessionError` when no row is theirs, or when the copy does not hold the rows.
    """
    import sqlite3

    where = str(database)
    try:
        source = sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)
        copy = sqlite3.connect(target)
        try:
            source.execute("BEGIN")  # one state of the database, whatever its client does
            tables = dict(_tables(source))
            rows = _rows_of(source, tables, ids)
            if not any(rows.values()):
                raise SessionError("holds no rows of this session", where=where)
            for table, (create, columns) in tables.items():
                copy.execute(create)
                slots = ", ".join("?" * len(columns))
                copy.executemany(
                    f"INSERT INTO {_quoted(table)} VALUES ({slots})", rows[table].values()
                )
            copy.commit()
            if any(_all(copy, table) != _ordered(rows[table].values()) for table in tables):
                raise SessionError("its rows were not written as they are", where=str(target))
        finally:
            copy.close()
            source.close()
    except sqlite3.Error as error:
        raise SessionError(f"its rows cannot be copied: {error}", where=where) from None


def _tables(source: Connection) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """(name, (statement that makes it, columns)) of each table that holds rows of its own."""
    found = source.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' AND sql LIKE 'CREATE TABLE%' ORDER BY name"
    )
    for name, create in found.fetchall():
        info = source.execute(f"PRAGMA table_info({_quoted(name)})")
        yield name, (create, [column for _, column, *_ in info])


def _rows_of(source: Connection, tables: Tables, ids: set[str]) -> Rows:
    """The rows of the sessions, with those of their sub-agents and what they refer to."""
    rows: Rows = {table: {} for table in tables}
    wanted = set(ids)
    while True:
        for table, (_, columns) in tables.items():
            for column in columns:
                if _names_session(table, column):
                    _take(source, rows, tables, table, column, wanted)
        more = set(_ids(rows, tables))
        if more <= wanted:
            break
        wanted |= more
    while any(_take_referred(source, rows, tables, table) for table in tables):
        pass
    return rows


def _ids(rows: Rows, tables: Tables) -> Iterator[str]:
    """The ids of all sessions among the rows."""
    for table, (_, columns) in tables.items():
        if _is_of_sessions(table) and "id" in columns:
            place = columns.index("id")
            yield from (row[place] for row in rows[table].values() if isinstance(row[place], str))


def _is_of_sessions(table: str) -> bool:
    return table.lower() in ("session", "sessions")


def _names_session(table: str, column: str) -> bool:
    column = column.lower()
    own = column == "id" or column in _PARENT
    return column in _SESSION or (own and _is_of_sessions(table))


def _take(
    source: Connection, rows: Rows, tables: Tables, table: str, column: str, values: Iterable[Any]
) -> bool:
    """Take the rows in which the column has one of the values; whether any was new."""
    before = len(rows[table])
    number = "NULL" if "WITHOUT ROWID" in tables[table][0].upper() else "rowid"
    query = f"SELECT {number}, * FROM {_quoted(table)} WHERE {_quoted(column)} = ?"
    for value in sorted(values, key=str):
        for key, *row in source.execute(query, (value,)):
            rows[table][tuple(row) if key is None else key] = tuple(row)
    return len(rows[table]) > before


def _take_referred(source: Connection, rows: Rows, tables: Tables, table: str) -> bool:
    """Take the rows of other tables that those of this one refer to; whether any was new."""
    keys = source.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchall()
    declared = [(key[2], key[3], key[4] or "id") for key in keys]
    by_name = [
        (column.removesuffix("_id"), column, "id")
        for column in tables[table][1]
        if column.endswith("_id") and "id" in tables.get(column.removesuffix("_id"), ("", []))[1]
    ]
    grown = False
    for other, column, theirs in (*declared, *by_name):
        if other != table and other in tables and column in tables[table][1]:
            place = tables[table][1].index(column)
            values = {row[place] for row in rows[table].values() if row[place] is not None}
            grown |= _take(source, rows, tables, other, theirs, values)
    return grown


def _all(copy: Connection, table: str) -> list[str]:
    return _ordered(copy.execute(f"SELECT * FROM {_quoted(table)}"))


def _ordered(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
