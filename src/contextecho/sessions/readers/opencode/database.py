"""OpenCode from 1.2 on: all sessions in one SQLite database.

The one thing to know: the database may be in use, and a session is read in one
transaction. A turn is found again by its message's id, and given only if its rows are
unchanged; that other sessions grow does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contextecho.errors import SessionError
from contextecho.sessions.building.databases import reading
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.building.stamp import changed
from contextecho.sessions.model import Session, Span
from contextecho.sessions.readers.opencode.pieces import Values
from contextecho.sessions.readers.opencode.rows import NumberedSource
from contextecho.sessions.readers.opencode.stored import (
    Form,
    InParts,
    Stored,
    Whole,
    as_bytes,
    as_text,
)
from contextecho.sessions.readers.opencode.thread import Thread, sidechain_of

if TYPE_CHECKING:
    import sqlite3

_FORMS: Final[tuple[Form, ...]] = (InParts(), Whole())
_SESSIONS: Final = ("session", "session_v2")
_FACTS: Final = ("id", "parent_id", "directory", "version", "revert")
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"


class _Database:
    """An open database of OpenCode, in a transaction that reads."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        tables = {as_text(name) for (name,) in connection.execute(_TABLES)}
        columns = {table: self._columns(table) for table in _SESSIONS if table in tables}
        self._sessions = {table: names for table, names in columns.items() if "id" in names}
        self.forms = [form for form in _FORMS if tables >= form.TABLES]
        if not self._sessions or not self.forms:
            raise SessionError("has not the tables of an OpenCode database", where=str(path))

    def sessions(self) -> dict[str, tuple[str, float]]:
        """(parent's id, time of the last change in ms) of every session, by its id.

        A row without an id is left out, and a session is not its own sub-agent.
        """
        found = {}
        for table, names in self._sessions.items():
            wanted = (c if c in names else "NULL" for c in ("id", "parent_id", "time_updated"))
            for row in self.connection.execute(f"SELECT {', '.join(wanted)} FROM {table}"):
                id, parent, updated = as_text(row[0]), as_text(row[1]), row[2]
                if id:
                    time = updated if isinstance(updated, int | float) else 0
                    found[id] = ("" if parent == id else parent, time)
        return found

    def session(self, id: str) -> dict[str, Any] | None:
        """A session's record, as an export has it."""
        found = None
        for table, names in self._sessions.items():
            wanted = [column for column in _FACTS if column in names]
            query = f"SELECT {', '.join(wanted)} FROM {table} WHERE id = CAST(? AS TEXT)"
            for row in self.connection.execute(query, (id,)):
                found = _record(dict(zip(wanted, row, strict=True)))
        return found

    def sub_agents(self, id: str) -> list[str]:
        """The ids of the sessions that a session started."""
        found: dict[str, None] = {}
        for table, names in self._sessions.items():
            if "parent_id" in names:
                query = f"SELECT id FROM {table} WHERE parent_id = CAST(? AS TEXT)"
                rows = self.connection.execute(query, (id,))
                found |= dict.fromkeys(as_text(child) for (child,) in rows)
        return [child for child in found if child not in ("", id)]

    def infos(self, id: str) -> list[Values]:
        """The `info` of each message of a session."""
        form, ids = self.form_of(id)
        rows = (form.stored(self.connection, message) or () for message in ids)
        return [form.value(one, stored)[0]["info"] for one, stored in zip(ids, rows, strict=True)]

    def nameless(self) -> int:
        """How many rows of sessions have no id."""
        queries = (f"SELECT count(*) FROM {t} WHERE id IS NULL OR id = ''" for t in self._sessions)
        return sum(self.connection.execute(query).fetchone()[0] for query in queries)

    def speaking(self) -> set[str]:
        """The ids of the sessions that have a message."""
        return {id for form in self.forms for id in form.sessions(self.connection)}

    def _columns(self, table: str) -> set[str]:
        cursor = self.connection.execute(f"SELECT * FROM {table} LIMIT 0")
        return {column[0] for column in cursor.description}

    def form_of(self, session: str) -> tuple[Form, list[Any]]:
        """How the messages of a session are kept, and their ids."""
        forms = ((form, form.ids(self.connection, session)) for form in self.forms)
        return next(((form, ids) for form, ids in forms if ids), (self.forms[0], []))


def database_members(path: Path) -> list[str]:
    """The ids of the sessions, the newest first, without those of sub-agents.

    Raises `SessionError` for a database without a conversation.
    """
    with _reading(path) as database:
        sessions, speaking = database.sessions(), database.speaking()
    found = [
        id for id, (parent, _) in sessions.items() if parent not in sessions and id in speaking
    ]
    if not found:
        raise SessionError("holds no conversation: no session has a message", where=str(path))
    return sorted(found, key=lambda id: (-sessions[id][1], id))


def read_database_member(path: Path, member: str) -> Session:
    """Index one session, a sub-agent's too. Raises `SessionError`."""
    with _reading(path) as database:
        record = database.session(member)
        if record is None:
            raise SessionError("holds no such session", where=f"{path}#{member}")
        thread = Thread(record)
        for _ in range(database.nameless()):
            thread.conversation.tally.add("row of a session without an id", 0)  # before all
        form, ids = database.form_of(member)
        source = DatabaseSource(path, form)
        for number, id in enumerate(ids, 1):
            stored = form.stored(database.connection, id) or ()
            source.add(id, stored)
            value, broken = form.value(id, stored)
            for _ in range(broken):
                thread.conversation.tally.add("broken row of a part", number)
            thread.take(Placed(number, Span(number, 0), value))
        calls = thread.children
        sidechains = [
            sidechain_of(child, path, database.infos(child), call_id=calls.get(child))
            for child in database.sub_agents(member)
        ]
    return thread.session(path, bytes=source.size, source=source, sidechains=sidechains)


class DatabaseSource(NumberedSource):
    """Loads messages by their ids."""

    def __init__(self, path: Path, form: Form) -> None:
        """`path` is the database, `form` how it keeps the session's messages."""
        super().__init__(path)
        self._form = form
        self._ids: list[Any] = []
        self._digests: list[bytes] = []
        self.size = 0  # of the rows, in bytes

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._ids)

    @property
    def sha256(self) -> str:
        """SHA-256 of the content of the rows: of each message, then of its parts."""
        digest = hashlib.sha256()
        with _reading(self._path) as database:
            for number in range(1, self.count + 1):
                for content in self._unchanged(database, number):
                    digest.update(content)
        return digest.hexdigest()

    def add(self, id: Any, stored: Stored) -> None:
        """Remember the rows of the next message."""
        self._ids.append(id)
        self._digests.append(_digest(stored))
        self.size += sum(map(len, stored))

    @contextmanager
    def loading(self) -> Iterator[Callable[[int], dict[str, Any]]]:
        """Gives a message for its number. Raises `SessionError` when it is not the same."""
        with _reading(self._path) as database:

            def load(number: int) -> dict[str, Any]:
                stored = self._unchanged(database, number)
                return self._form.value(self._ids[number - 1], stored)[0]

            yield load

    def _unchanged(self, database: _Database, number: int) -> Stored:
        stored = self._form.stored(database.connection, self._ids[number - 1]) or ()
        if _digest(stored) != self._digests[number - 1]:
            raise changed(self._path)
        return stored


@contextmanager
def _reading(path: Path) -> Iterator[_Database]:
    """A transaction that reads. Raises `SessionError` for a database that cannot be read."""
    with reading(path) as connection:
        yield _Database(connection, path)


def _record(columns: Values) -> dict[str, Any]:
    """A session's row as its record; a column that a client does not have is empty."""
    named = {"id": "id", "directory": "directory", "version": "version", "parentID": "parent_id"}
    texts = {key: as_text(columns.get(column)) for key, column in named.items()}
    if texts["parentID"] == texts["id"]:
        texts["parentID"] = ""
    return {**texts, "revert": decode_json(as_bytes(columns.get("revert")))}


def _digest(stored: Stored) -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for content in stored:
        digest.update(b"%d " % len(content) + content)
    return digest.digest()
