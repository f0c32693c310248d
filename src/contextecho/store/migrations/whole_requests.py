"""Migration 3: a request's row holds everything that its key is made of.

The one thing to know: rows that release 0.1.0 wrote have neither, which is not the same as
an empty one: `serving` is null there, and their keys cannot be made again from the row alone.
"""

from __future__ import annotations

from contextecho.store.databases import Database


def whole_requests(database: Database) -> None:
    """Keep how a target is served and the schema of an answer."""
    database.define("ALTER TABLE request ADD COLUMN serving {text}")
    database.define("ALTER TABLE request ADD COLUMN schema {text}")
