"""Migration 2: batches, written down before they are awaited."""

from __future__ import annotations

from contextecho.store.databases import Database

_TABLES = (
    """CREATE TABLE batch (
  id {serial},
  run {text} NOT NULL REFERENCES run(id),
  provider {text} NOT NULL,
  provider_id {text},
  state {text} NOT NULL,
  opened_at {text} NOT NULL,
  submitted_at {text},
  ended_at {text}
)""",
    "CREATE INDEX batch_run ON batch(run)",
    """CREATE TABLE batch_item (
  batch {integer} NOT NULL REFERENCES batch(id),
  custom_id {text} NOT NULL,
  attempt {integer} NOT NULL UNIQUE REFERENCES attempt(id),
  PRIMARY KEY (batch, custom_id)
){by_key}""",
)


def batches(database: Database) -> None:
    """Make the tables of provider batches and their items."""
    for table in _TABLES:
        database.define(table)
