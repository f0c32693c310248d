"""A store in one SQLite file: its transactions, its lock, and what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, TypeVar

from sqlalchemy import TableClause
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from contextecho.errors import DataError
from contextecho.store.databases.database import Database, LockedError, Row, Statement, Value
from contextecho.store.databases.lock import exclusive, identity

T = TypeVar("T")

# Told at once what NULL is; else it looks for a way to write None at every one.
sqlite3.register_adapter(type(None), lambda none: none)

APPLICATION_ID = 0x43454348  # "CECH"; tells our files from other programs' SQLite files
COPY_IT = "copy it to a place that can be written, or name another --store"
_AGAIN = "then give the same command again: what had come back is kept"
_TODO = {
    sqlite3.SQLITE_READONLY: COPY_IT,
    sqlite3.SQLITE_FULL: f"make room, {_AGAIN}",
    sqlite3.SQLITE_IOERR: f"see to the disk, its quota and `ulimit -f`, {_AGAIN}",
    sqlite3.SQLITE_BUSY: f"another process holds it; let that one end, {_AGAIN}",
    sqlite3.SQLITE_CORRUPT: "`contextecho store check` says what is left; `sqlite3 FILE .recover`"
    " makes a new file of it",
    sqlite3.SQLITE_NOTADB: "the file was overwritten; take the copy from before",
}


class SQLite(Database):
    """A store's SQLite file, used from one thread."""

    kind = "SQLite file"
    make_one = "give none for the default"
    dialect = SQLiteDialect(paramstyle="qmark")
    words: ClassVar = {
        "text": "TEXT",
        "bytes": "BLOB",
        "integer": "INTEGER",
        "real": "REAL",
        "serial": "INTEGER PRIMARY KEY",
        "by_key": " WITHOUT ROWID",
    }
    waits_for_disk = False  # a commit goes to the write-ahead log, in microseconds

    def __init__(self, db: sqlite3.Connection, file: Path, where: str) -> None:
        """`db` is in autocommit mode: every transaction is spelled out."""
        super().__init__(where)
        self._db = db
        self.file = file
        self._opened = identity(file)

    @staticmethod
    def insert(table: TableClause) -> Insert:
        """With ON CONFLICT."""
        return sqlite_insert(table)

    def rows(self, statement: Statement, *values: Value) -> Iterator[Row]:
        """The rows, read as they are asked for."""
        return self._read(self.sql(statement), values)

    def _read(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        try:
            # By way of `map`, which unlike a cursor has no `close` that fails on a closed store.
            yield from map(tuple, self._db.execute(sql, values))
        except sqlite3.DatabaseError as error:
            raise self._told("read", error) from error

    def first(self, statement: Statement, *values: Value) -> Row | None:
        """The first row, or none."""
        try:
            row: Row | None = self._db.execute(self.sql(statement), values).fetchone()
        except sqlite3.DatabaseError as error:
            raise self._told("read", error) from error
        return row

    def add(self, statement: Statement, *values: Value) -> int:
        """Add a row; its `id` is SQLite's own."""
        added = self._db.execute(self.sql(statement), values).lastrowid
        assert added is not None  # it was an INSERT
        return added

    def run(self, statement: Statement, *values: Value) -> int:
        """Run a change."""
        return self._db.execute(self.sql(statement), values).rowcount

    def run_many(self, statement: Statement, rows: Iterable[Sequence[Value]]) -> None:
        """Run a change for each row."""
        self._db.executemany(self.sql(statement), rows)

    def execute(self, sql: str) -> None:
        """Run a statement as it is."""
        self._db.execute(sql)

    def write(self, work: Callable[[], T]) -> T:
        """All or nothing; a file that is no longer there is not written on."""
        if identity(self.file) != self._opened:  # SQLite would go on in a file without a name
            raise DataError(
                "the store was moved or deleted while it was in use",
                where=self.where,
                todo="put it back and give the same command again",
            )
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = work()
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back when the disk is full
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # a defect of ours
        except sqlite3.DatabaseError as error:
            raise self._told("written", error) from error
        return result

    def alone(self) -> None:
        """Nothing to do: a writing transaction has no other beside it."""

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """A lock file beside the store."""
        lock = self.file.with_name(f"{self.file.stem}-{name}.lock")
        with ExitStack() as held:
            try:
                held.enter_context(exclusive(lock))
            except OSError as error:
                raise DataError(
                    f"no lock can be made: {error.strerror}", where=str(lock), todo=COPY_IT
                ) from error
            yield

    def is_locked(self, name: str) -> bool:
        """Whether it cannot be taken, which is tried."""
        try:
            with self.lock(name):
                return False
        except LockedError:
            return True

    def version(self) -> int | None:
        """`user_version`, if the file is ours or empty: all of one moment."""
        with self._one_moment():
            (number,) = self._db.execute("PRAGMA user_version").fetchone()
            (owner,) = self._db.execute("PRAGMA application_id").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if number < 0 or (tables and owner != APPLICATION_ID):
            return None
        return int(number)

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        """A transaction that reads, unless one is open."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.OperationalError):  # an error has ended it
                self._db.execute("COMMIT")

    def set_version(self, number: int) -> None:
        """Mark the file."""
        self._db.execute(f"PRAGMA user_version = {number}")
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def size(self) -> int:
        """The file and its log."""
        log = self.file.with_name(f"{self.file.name}-wal")
        return sum(part.stat().st_size for part in (self.file, log) if part.exists())

    def problems(self) -> Iterator[str]:
        """What `integrity_check` and `foreign_key_check` say."""
        for (line,) in self._read("PRAGMA integrity_check"):
            if line != "ok":
                yield f"the file: {line}"
        for table, row, parent, _ in self._read("PRAGMA foreign_key_check"):
            yield f"table {table}: row {row} refers to a row of {parent} that is not there"

    def compact(self) -> None:
        """`VACUUM`, and the log emptied."""
        try:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.DatabaseError as error:
            raise self._told("written", error) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _told(self, done: str, error: sqlite3.DatabaseError) -> DataError:
        what = f"the store cannot be {done}: {error}"
        if code(error) == sqlite3.SQLITE_READONLY:
            what = "the store is read-only"
        return DataError(what, where=self.where, todo=_TODO.get(code(error), ""))


def code(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
