"""OpenCode from 1.2 on: all sessions in one SQLite database.

The one thing to know: the database may be in use. It is opened for reading only, a
session is read in one transaction, and a database that nobody has open (no write-ahead
log beside it) is opened as immutable, because SQLite would else leave files there.
A turn is found again by its message's id, and given only if its rows are unchanged;
that other sessions grow does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contextecho.errors import SessionError
from contextecho.sessions.jsontext import decode_json
from contextecho.sessions.model import Session, Sidechain, Span
from contextecho.sessions.placed import Placed
from contextecho.sessions.readers.opencode.pieces import Values
from contextecho.sessions.readers.opencode.rows import NumberedSource, changed
from contextecho.sessions.readers.opencode.thread import Thread, model_of
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    import sqlite3

_WAIT_SECONDS: Final = 5.0  # for a client that is just writing
_TABLES: Final = """
    SELECT count(*) FROM sqlite_master
    WHERE type = 'table' AND name IN ('session', 'message', 'part') AND sql LIKE 'CREATE TABLE%'
"""
_MEMBERS: Final = """
    SELECT id FROM session WHERE (parent_id IS NULL OR parent_id NOT IN (SELECT id FROM session))
    AND EXISTS (SELECT 1 FROM message WHERE session_id = session.id)
    ORDER BY time_updated DESC, id
"""
# Ids are read as bytes, and compared as what they are in the table.
_MESSAGES: Final = """
    SELECT id, data FROM message WHERE session_id = CAST(? AS TEXT) ORDER BY time_created, id
"""
_MESSAGE: Final = "SELECT data FROM message WHERE id = CAST(? AS TEXT)"
_PARTS: Final = "SELECT id, data FROM part WHERE message_id = CAST(? AS TEXT) ORDER BY id"
_CHILDREN: Final = "SELECT id FROM session WHERE parent_id = ? ORDER BY time_created, id"


def database_members(path: Path) -> list[str]:
    """The ids of the sessions, the newest first, without those of sub-agents.

    Raises `SessionError` for one without a conversation.
    """
    with _reading(path) as database:
        found = [_word(id) for (id,) in database.execute(_MEMBERS)]
    if not found:
        raise SessionError("holds no conversation: no session has a message", where=str(path))
    return found


def read_database_member(path: Path, member: str) -> Session:
    """Index one session, a sub-agent's too. Raises `SessionError`."""
    source = DatabaseSource(path)
    with _reading(path) as database:
        info = _session_info(database, path, member)
        thread = Thread(info)
        for number, (id, data) in enumerate(database.execute(_MESSAGES, (member,)), 1):
            parts = database.execute(_PARTS, (id,)).fetchall()
            source.add(id, data, parts)
            value, broken = _value(id, data, parts)
            for _ in range(broken):
                thread.conversation.tally.add("broken row of a part", number)
            thread.take(Placed(number, Span(number, 0), value))
        sidechains = list(_sidechains(database, path, member))
    return thread.session(path, bytes=source.size, source=source, sidechains=sidechains)


class DatabaseSource(NumberedSource):
    """Loads messages by their ids."""

    def __init__(self, path: Path) -> None:
        """`path` is the database."""
        super().__init__(path)
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
                data, parts = self._unchanged(database, number)
                for content in (data, *(data for _, data in parts)):
                    digest.update(_bytes(content))
        return digest.hexdigest()

    def add(self, id: Any, data: Any, parts: list[tuple[Any, Any]]) -> None:
        """Remember the rows of the next message."""
        self._ids.append(id)
        self._digests.append(_digest(data, parts))
        self.size += sum(len(_bytes(content)) for content in (data, *(d for _, d in parts)))

    @contextmanager
    def loading(self) -> Iterator[Callable[[int], dict[str, Any]]]:
        """Gives a message for its number. Raises `SessionError` when it is not the same."""
        with _reading(self._path) as database:
            yield lambda number: _value(self._ids[number - 1], *self._unchanged(database, number))[
                0
            ]

    def _unchanged(
        self, database: sqlite3.Connection, number: int
    ) -> tuple[Any, list[tuple[Any, Any]]]:
        id = self._ids[number - 1]
        row = database.execute(_MESSAGE, (id,)).fetchone()
        parts = database.execute(_PARTS, (id,)).fetchall()
        if row is None or _digest(row[0], parts) != self._digests[number - 1]:
            raise changed(self._path)
        return row[0], parts


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction that reads. Raises `SessionError` for a database that cannot be read."""
    import sqlite3

    log = path.with_name(f"{path.name}-wal")
    in_use = log.exists() and log.stat().st_size > 0
    before = path.stat().st_mtime_ns
    try:
        with closing(_open(path, immutable=not in_use)) as database:
            if database.execute(_TABLES).fetchone()[0] != 3:
                raise SessionError(
                    "is no database of OpenCode: tables session, message and part are wanted",
                    where=str(path),
                )
            yield database
    except sqlite3.Error as error:
        raise SessionError(
            f"cannot be read as a database: {one_line(str(error))}",
            where=str(path),
            todo="close the client, or give a copy of the file and of its -wal file",
        ) from None
    if not in_use and path.stat().st_mtime_ns != before:
        raise changed(path)


def _open(path: Path, *, immutable: bool) -> sqlite3.Connection:
    """Open for reading only, in a transaction: what is read is of one moment."""
    import sqlite3

    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable={immutable:d}",
        uri=True,
        isolation_level=None,
        timeout=_WAIT_SECONDS,
    )
    database.text_factory = bytes  # what is no UTF-8 is ours to mend
    for statement in ("PRAGMA query_only = 1", "PRAGMA trusted_schema = 0", "BEGIN"):
        database.execute(statement)
    return database


def _session_info(database: sqlite3.Connection, path: Path, member: str) -> dict[str, Any]:
    """The session's record as an export has it."""
    cursor = database.execute("SELECT * FROM session WHERE id = ?", (member,))
    row = cursor.fetchone()
    if row is None:
        raise SessionError("holds no such session", where=f"{path}#{member}")
    columns = dict(zip((column[0] for column in cursor.description), row, strict=True))
    named = {"directory": "directory", "version": "version", "parentID": "parent_id"}
    info = {key: _word(columns.get(column)) for key, column in named.items()}
    return {"id": member, "revert": decode_json(_bytes(columns.get("revert"))), **info}


def _sidechains(database: sqlite3.Connection, path: Path, member: str) -> Iterator[Sidechain]:
    """The sub-agents that the session started."""
    for (child,) in database.execute(_CHILDREN, (member,)).fetchall():
        infos = [decode_json(_bytes(data)) for _, data in database.execute(_MESSAGES, (child,))]
        answers = (i for i in infos if isinstance(i, dict) and i.get("role") == "assistant")
        models = dict.fromkeys(filter(None, map(model_of, answers)))
        yield Sidechain(agent_id=_word(child), path=path, records=len(infos), models=tuple(models))


def _value(id: Any, data: Any, parts: list[tuple[Any, Any]]) -> tuple[dict[str, Any], int]:
    """A message with its parts, as an export has it, and how many parts are broken."""
    info = decode_json(_bytes(data))
    read = [(part, decode_json(_bytes(content))) for part, content in parts]
    whole = [_with_id(part, value) for part, value in read if isinstance(value, dict)]
    info = _with_id(id, info) if isinstance(info, dict) else {}
    return {"info": info, "parts": whole}, len(parts) - len(whole)


def _with_id(id: Any, value: Values) -> dict[str, Any]:
    return {"id": _word(id), **value}


def _digest(data: Any, parts: list[tuple[Any, Any]]) -> bytes:
    digest = hashlib.blake2b(_bytes(data), digest_size=8)
    for id, content in parts:
        digest.update(b"\x00" + _bytes(id) + b"\x00" + _bytes(content))
    return digest.digest()


def _bytes(value: Any) -> bytes:
    """The bytes of a text or blob, and none of a number or nothing."""
    return value if isinstance(value, bytes) else b""


def _word(value: Any) -> str:
    return _bytes(value).decode("utf-8", "replace")
