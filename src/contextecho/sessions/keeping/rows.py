"""The rows of one session of a client's SQLite database, as a small database of their own.

The one thing to know: no schema is known here. A row belongs to the session if one of
its columns names the session; with it come the sessions that have it as their parent,
and the rows that those refer to by a foreign key or a column's name (`project_id`).
Texts are copied as bytes: one that is no UTF-8 is kept as it is, and no error quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.building import databases
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from sqlite3 import Connection

_SESSION: Final = frozenset({"session_id", "sessionid"})
_PARENT: Final = frozenset({"parent_id", "parentid"})
_OF_SESSIONS: Final = re.compile(r"sessions?(_v\d+)?", re.IGNORECASE)
_NUMBERS: Final = ("rowid", "_rowid_", "oid")  # names of a row's number; a column may have one

Rows = dict[str, dict[Any, tuple[Any, ...]]]
"""By table, by row number (by the row itself where a table has no numbers)."""


class Table(Struct):
    """A table that holds rows of its own."""

    create: str  # the statement that makes it
    columns: list[str]
    generated: frozenset[str]  # of the columns: computed from the others, and never written


Tables = dict[str, Table]


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database. Raises `OSError`."""
    with path.open("rb") as file:
        return databases.is_database(file.read(len(databases.MAGIC)))


def copy_rows(database: Path, target: Path, ids: set[str]) -> None:
    """Write the rows of the session with one of these ids to a new database.

    Raises `SessionError`, which names the database, when no row is theirs, or when the copy
    does not hold the rows.
    """
    with databases.reading(database) as source:
        source.text_factory = _Text
        tables = dict(_tables(source))
        rows = _rows_of(source, tables, {_Text(id.encode("utf-8", "replace")) for id in ids})
    if not any(rows.values()):
        raise SessionError("holds no rows of this session", where=str(database))
    import sqlite3

    try:
        with closing(sqlite3.connect(target)) as copy:
            copy.text_factory = _Text
            _write(copy, tables, rows)
            same = (
                _all(copy, name, tables[name]) == _ordered(rows[name].values()) for name in rows
            )
            if not all(same):
                raise SessionError("its rows were not written as they are", where=str(database))
    except sqlite3.Error as error:
        raise SessionError(
            f"its rows cannot be copied: {one_line(str(error))}", where=str(database)
        ) from None


def _write(copy: Connection, tables: Tables, rows: Rows) -> None:
    """Make the tables and write the rows; what is generated comes of itself."""
    for name, table in tables.items():
        copy.execute(table.create)
        places = [n for n, column in enumerate(table.columns) if column not in table.generated]
        columns = _listed(table.columns[place] for place in places)
        for row in rows[name].values():
            values = [row[place] for place in places]
            slots = ", ".join(map(_slot, values))
            copy.execute(f"INSERT INTO {_quoted(name)} ({columns}) VALUES ({slots})", values)
    copy.commit()


class _Text(bytes):
    """A text as the database holds it, which need be no UTF-8; other bytes are a blob."""


def _slot(value: Any) -> str:
    """Where a value stands in a statement: bound as bytes, a text has to be made one again."""
    return "CAST(? AS TEXT)" if isinstance(value, _Text) else "?"


def _tables(source: Connection) -> Iterator[tuple[str, Table]]:
    """Each table that holds rows of its own, by its name."""
    found = source.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' AND sql LIKE 'CREATE TABLE%' ORDER BY name"
    )
    for name, create in [(name.decode(), create.decode()) for name, create in found]:
        info = source.execute(f"PRAGMA table_xinfo({_quoted(name)})")
        hidden = {column.decode(): hidden for _, column, *_, hidden in info}
        generated = frozenset(column for column in hidden if hidden[column])
        yield name, Table(create, list(hidden), generated)


def _rows_of(source: Connection, tables: Tables, ids: set[_Text]) -> Rows:
    """The rows of the sessions, with those of their sub-agents and what they refer to."""
    rows: Rows = {table: {} for table in tables}
    wanted = set(ids)
    while True:
        for table in tables:
            for column in tables[table].columns:
                if _names_session(table, column):
                    _take(source, rows, tables, table, column, wanted)
        more = set(_ids(rows, tables))
        if more <= wanted:
            break
        wanted |= more
    while any(_take_referred(source, rows, tables, table) for table in tables):
        pass
    return rows


def _ids(rows: Rows, tables: Tables) -> Iterator[_Text]:
    """The ids of all sessions among the rows."""
    for name, table in tables.items():
        if _is_of_sessions(name) and "id" in table.columns:
            place = table.columns.index("id")
            ids = (row[place] for row in rows[name].values())
            yield from (id for id in ids if isinstance(id, _Text))


def _is_of_sessions(table: str) -> bool:
    return _OF_SESSIONS.fullmatch(table) is not None


def _names_session(table: str, column: str) -> bool:
    column = column.lower()
    own = column == "id" or column in _PARENT
    return column in _SESSION or (own and _is_of_sessions(table))


def _take(
    source: Connection, rows: Rows, tables: Tables, table: str, column: str, values: Iterable[Any]
) -> bool:
    """Take the rows in which the column has one of the values; whether any was new."""
    before = len(rows[table])
    columns = _listed(tables[table].columns)
    number = _number(tables[table])
    query = f"SELECT {number}, {columns} FROM {_quoted(table)} WHERE {_quoted(column)} = "
    for value in sorted(values, key=repr):
        for key, *row in source.execute(query + _slot(value), (value,)):
            rows[table][tuple(row) if key is None else key] = tuple(row)
    return len(rows[table]) > before


def _number(table: Table) -> str:
    """What a statement calls the number of a row; `NULL` where rows have none to be read."""
    taken = {column.lower() for column in table.columns}
    free = [name for name in _NUMBERS if name not in taken]
    return "NULL" if "WITHOUT ROWID" in table.create.upper() or not free else free[0]


def _take_referred(source: Connection, rows: Rows, tables: Tables, table: str) -> bool:
    """Take the rows of other tables that those of this one refer to; whether any was new."""
    keys = source.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchall()
    declared = [(key[2].decode(), key[3].decode(), (key[4] or b"id").decode()) for key in keys]
    ends = [column for column in tables[table].columns if column.endswith("_id")]
    named = ((tables.get(column.removesuffix("_id")), column) for column in ends)
    by_name = [
        (column.removesuffix("_id"), column, "id")
        for other, column in named
        if other is not None and "id" in other.columns
    ]
    grown = False
    for other, column, theirs in (*declared, *by_name):
        if other != table and other in tables and column in tables[table].columns:
            place = tables[table].columns.index(column)
            values = {row[place] for row in rows[table].values() if row[place] is not None}
            grown |= _take(source, rows, tables, other, theirs, values)
    return grown


def _all(copy: Connection, name: str, table: Table) -> list[str]:
    return _ordered(copy.execute(f"SELECT {_listed(table.columns)} FROM {_quoted(name)}"))


def _ordered(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return sorted(repr([(type(value).__name__, value) for value in row]) for row in rows)


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(_quoted, columns))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
