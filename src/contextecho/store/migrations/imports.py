"""Migration 4: what was imported from others, apart from what was collected."""

from __future__ import annotations

from contextecho.store.databases import Database

_TABLES = (
    """CREATE TABLE release (
  id {text} PRIMARY KEY,
  imported_at {text} NOT NULL,
  place {text} NOT NULL,
  protocol {text} NOT NULL,
  files {integer} NOT NULL,
  cells {integer} NOT NULL,
  versions {text} NOT NULL
){by_key}""",
    """CREATE TABLE imported_cell (
  release {text} NOT NULL REFERENCES release(id),
  ordinal {integer} NOT NULL,
  path {text} NOT NULL,
  sha256 {text} NOT NULL,
  experiment {text} NOT NULL,
  condition {text},
  target {text},
  session {text},
  position {text},
  turn {integer},
  arm {text},
  stimulus {text},
  paraphrase {integer},
  replicate {integer},
  text {text},
  length {integer},
  seconds {real},
  input_tokens {integer},
  output_tokens {integer},
  provider {text},
  model {text},
  collected_at {text},
  PRIMARY KEY (release, ordinal)
){by_key}""",
    """CREATE TABLE imported_verdict (
  release {text} NOT NULL,
  cell {integer} NOT NULL,
  scorer {text} NOT NULL,
  value {real},
  label {text},
  reason {text},
  invalid {text},
  given {text},
  PRIMARY KEY (release, cell, scorer),
  FOREIGN KEY (release, cell) REFERENCES imported_cell(release, ordinal)
){by_key}""",
    """CREATE TABLE finding (
  release {text} NOT NULL REFERENCES release(id),
  ordinal {integer} NOT NULL,
  flag {text} NOT NULL,
  path {text} NOT NULL,
  detail {text} NOT NULL,
  PRIMARY KEY (release, ordinal)
){by_key}""",
)


def imports(database: Database) -> None:
    """Make the tables of imported releases."""
    for table in _TABLES:
        database.define(table)
