"""Opening a client's SQLite database, which the client may have open.

The one thing to know: a database is opened for reading only, in one transaction. One
that nobody writes (no log with anything in it beside it) is opened as immutable, because
SQLite would else leave files there; one whose log was left behind is read from a copy
(`left_logs`). The logs lie beside the file that a link leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from contextecho.errors import PassingError, SessionError
from contextecho.sessions.building.bounds import LONGEST_VALUE
from contextecho.sessions.building.left_logs import copy_of
from contextecho.sessions.building.stamp import changed
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    import sqlite3

MAGIC: Final = b"SQLite format 3\x00"
"""The first bytes of a database."""
_WAIT_SECONDS: Final = 5.0  # for a client that is just writing
# What SQLite says of the content: an error, corrupt, too big, of no format, no database.
_LASTING: Final = frozenset({1, 11, 18, 24, 26})
_LOGS: Final = ("-wal", "-journal")


def is_database(head: bytes) -> bool:
    """Whether a file that begins like this is an SQLite database."""
    return head.startswith(MAGIC)


def tables_of(path: Path) -> list[bytes]:
    """How each table begins, `CREATE TABLE name (...`. Raises as `reading`."""
    begins = "SELECT CAST(substr(sql, 1, 200) AS BLOB) FROM sqlite_master WHERE type = 'table'"
    with reading(path) as connection:
        return [sql for (sql,) in connection.execute(begins) if sql is not None]


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction that reads; texts are bytes, since what is no UTF-8 is ours to mend.

    Raises `SessionError` for a database that cannot be read, also of what SQLite says
    inside the `with`; `OSError` for a file that the system refuses.
    """
    import sqlite3

    file = path.resolve()
    in_use = _is_in_use(file)
    before = file.stat().st_mtime_ns
    copy = copy_of(file)
    try:
        with closing(_open(copy.path if copy else file, immutable=not in_use)) as connection:
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: of a column's name
        is_lasting = getattr(error, "sqlite_errorcode", 1) & 0xFF in _LASTING
        raise (SessionError if is_lasting else PassingError)(
            f"cannot be read as a database: {one_line(str(error))}",
            where=str(path),
            todo="close the client, or give a copy of the file and of its -wal file",
        ) from None
    if not in_use and file.stat().st_mtime_ns != before:
        raise changed(path)


def _is_in_use(file: Path) -> bool:
    """Whether a log beside the file holds what the file may lack, or may lose again."""
    for ending in _LOGS:
        with suppress(OSError):
            if file.with_name(f"{file.name}{ending}").stat().st_size > 0:
                return True
    return False


def _open(file: Path, *, immutable: bool) -> sqlite3.Connection:
    """Open for reading only, in a transaction: what is read is of one moment."""
    import sqlite3

    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=ro&immutable={immutable:d}",
        uri=True,
        isolation_level=None,
        timeout=_WAIT_SECONDS,
    )
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    for statement in ("PRAGMA query_only = 1", "PRAGMA trusted_schema = 0", "BEGIN"):
        connection.execute(statement)
    return connection
