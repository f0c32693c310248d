"""What a store asks of a database: statements, transactions, a lock, and what it is.

The one thing to know: a statement is a SQLAlchemy construct that is compiled once
for each database and then handed to its driver as a string. Compiling and running
one through SQLAlchemy's engine costs more than the rest of a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar

from sqlalchemy import ClauseElement, Dialect, TableClause

from contextecho.errors import UsageError

T = TypeVar("T")
Row = tuple[Any, ...]
Value = str | int | float | bytes | None
InsertInto = Callable[[TableClause], Any]
Statement = Callable[[InsertInto], ClauseElement]
"""Builds a statement. Its values are bound by place; constants are spelled out in it."""


class LockedError(Exception):
    """Another process holds the lock."""


class NoStoreError(UsageError):
    """There is no store, and none is to be made."""

    def __init__(self, where: str) -> None:
        """`where` was looked."""
        todo = "collect first, or name another --store"
        super().__init__("there is no store here", where=where, todo=todo)


class Database(ABC):
    """An open database. Statements outside `write` are transactions of their own."""

    kind: ClassVar[str]  # what a message calls it
    make_one: ClassVar[str]  # advice to who named a database of somebody else
    dialect: ClassVar[Dialect]
    words: ClassVar[Mapping[str, str]]  # for the placeholders of `define`
    waits_for_disk: ClassVar[bool]  # whether a commit takes long enough to wait elsewhere

    def __init__(self, where: str) -> None:
        """`where` is how a message names the database."""
        self.where = where
        self._compiled: dict[Statement, str] = {}

    def sql(self, statement: Statement) -> str:
        """The statement as the driver takes it."""
        known = self._compiled.get(statement)
        if known is None:
            compiled = statement(self.insert).compile(dialect=self.dialect)
            constants = {k: v for k, v in compiled.params.items() if v is not None}
            assert not constants, f"constants are spelled out, not bound: {constants}"
            known = self._compiled[statement] = compiled.string
        return known

    def define(self, template: str) -> None:
        """Run a statement of a migration; its types and options are named in braces."""
        self.execute(template.format_map(self.words))

    @abstractmethod
    def first(self, statement: Statement, *values: Value) -> Row | None:
        """The first row of a query."""

    @abstractmethod
    def add(self, statement: Statement, *values: Value) -> int:
        """Run an INSERT inside `write`; gives the `id` of the new row."""

    @staticmethod
    @abstractmethod
    def insert(table: TableClause) -> Any:
        """The database's own INSERT, which knows ON CONFLICT."""

    @abstractmethod
    def rows(self, statement: Statement, *values: Value) -> Iterator[Row]:
        """The rows of a query. Raises `DataError` when the database cannot be read."""

    @abstractmethod
    def run(self, statement: Statement, *values: Value) -> int:
        """Run a change inside `write`; returns how many rows it changed."""

    @abstractmethod
    def run_many(self, statement: Statement, rows: Iterable[Sequence[Value]]) -> None:
        """Run a change inside `write` once for each row of values."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Run a statement of the database's own language inside `write`."""

    @abstractmethod
    def write(self, work: Callable[[], T]) -> T:
        """Do `work` in one transaction: all or nothing. Raises `DataError` for nothing.

        `work` is done again when it may not have been kept (a lost connection), so doing it
        twice must be the same as doing it once.
        """

    @abstractmethod
    def alone(self) -> None:
        """Inside `write`: wait until no other process is here, and keep others out."""

    @abstractmethod
    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock between processes, which falls with its holder. Raises `LockedError`."""

    @abstractmethod
    def is_locked(self, name: str) -> bool:
        """Whether some process holds the lock of this name."""

    @abstractmethod
    def version(self) -> int | None:
        """The number of the schema, 0 for an empty database, None for another program's."""

    @abstractmethod
    def set_version(self, number: int) -> None:
        """Inside `write`: mark the database as a store of this schema."""

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def problems(self) -> Iterator[str]:
        """What the database itself finds wrong with its files."""

    @abstractmethod
    def compact(self) -> None:
        """Give the space of what was removed back to the disk."""

    @abstractmethod
    def close(self) -> None:
        """Close it. What was written is in it already."""
