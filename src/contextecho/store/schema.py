"""The tables, and how an older store becomes a current one.

The one thing to know: a migration is a small function that is never edited once
released; `PRAGMA user_version` counts those that ran. docs/store.md shows the
tables that all of them together make, and a test compares the two.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from contextecho.errors import DataError

APPLICATION_ID = 0x43454348  # "CECH"; tells our files from other programs' SQLite files


_FIRST_TABLES = (
    """CREATE TABLE blob (
  sha256 TEXT PRIMARY KEY,
  zstd BLOB NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE run (
  id TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  begun_at TEXT NOT NULL,
  study TEXT NOT NULL,
  session TEXT NOT NULL,
  session_path TEXT NOT NULL,
  targets TEXT NOT NULL,
  plan TEXT NOT NULL,
  versions TEXT NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE cell (
  run TEXT NOT NULL REFERENCES run(id),
  ordinal INTEGER NOT NULL,
  key TEXT NOT NULL,
  study TEXT NOT NULL,
  target TEXT NOT NULL,
  session TEXT NOT NULL,
  position TEXT NOT NULL,
  arm TEXT NOT NULL,
  battery TEXT NOT NULL,
  stimulus TEXT NOT NULL,
  paraphrase INTEGER NOT NULL,
  replicate INTEGER NOT NULL,
  prefix TEXT NOT NULL REFERENCES blob(sha256),
  PRIMARY KEY (run, ordinal)
) WITHOUT ROWID""",
    """CREATE TABLE request (
  key TEXT PRIMARY KEY,
  target TEXT NOT NULL,
  context TEXT NOT NULL REFERENCES blob(sha256),
  ask TEXT NOT NULL,
  decoding TEXT NOT NULL,
  sample INTEGER NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL REFERENCES request(key),
  run TEXT NOT NULL REFERENCES run(id),
  begun_at TEXT NOT NULL,
  ended_at TEXT,
  outcome TEXT,
  text TEXT,
  stop_reason TEXT,
  failure TEXT,
  message TEXT,
  status INTEGER,
  served_model TEXT,
  seconds REAL,
  input INTEGER,
  cached INTEGER,
  cache_write INTEGER,
  output INTEGER,
  reasoning INTEGER
)""",
    "CREATE INDEX attempt_key ON attempt(key)",
    """CREATE TABLE reply (
  key TEXT PRIMARY KEY REFERENCES request(key),
  attempt INTEGER NOT NULL REFERENCES attempt(id),
  settled INTEGER NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE verdict (
  reply_key TEXT NOT NULL REFERENCES reply(key),
  scorer TEXT NOT NULL,
  scorer_version TEXT NOT NULL,
  value REAL,
  invalid TEXT,
  detail TEXT NOT NULL,
  PRIMARY KEY (reply_key, scorer, scorer_version)
) WITHOUT ROWID""",
)


def _first_tables(db: sqlite3.Connection) -> None:
    """Blobs, runs and cells, requests, the ledger of attempts, replies, verdicts."""
    for statement in _FIRST_TABLES:
        db.execute(statement)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first_tables,)


def migrate(db: sqlite3.Connection, where: str) -> None:
    """Bring an open database to the current schema, in one transaction.

    Raises `DataError` when the file belongs to another program or to a newer version of this one.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        _check_owner(db, where, version)
        for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
            migration(db)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def check_current(db: sqlite3.Connection, where: str) -> None:
    """Raise `DataError` unless a database that cannot be written has the current schema."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    _check_owner(db, where, version)
    if version < len(MIGRATIONS):
        raise DataError(
            "the store is read-only and must first be brought up to date",
            where=where,
            todo="copy it to a place that can be written",
        )


def _check_owner(db: sqlite3.Connection, where: str, version: int) -> None:
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    tables: int = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (tables and owner != APPLICATION_ID) or version < 0:
        raise DataError(
            "this SQLite file is not a contextecho store",
            where=where,
            todo="name another --store",
        )
    if version > len(MIGRATIONS):
        raise DataError(
            f"the store has schema {version}, this contextecho knows up to {len(MIGRATIONS)}",
            where=where,
            todo="upgrade contextecho",
        )
