"""Migration 1: blobs, runs and cells, requests, the ledger of attempts, replies, verdicts."""

from __future__ import annotations

from contextecho.store.databases import Database

_TABLES = (
    """CREATE TABLE blob (
  sha256 {text} PRIMARY KEY,
  zstd {bytes} NOT NULL
){by_key}""",
    """CREATE TABLE run (
  id {text} PRIMARY KEY,
  created_at {text} NOT NULL,
  begun_at {text} NOT NULL,
  study {text} NOT NULL,
  session {text} NOT NULL,
  session_path {text} NOT NULL,
  targets {text} NOT NULL,
  plan {text} NOT NULL,
  versions {text} NOT NULL
){by_key}""",
    """CREATE TABLE cell (
  run {text} NOT NULL REFERENCES run(id),
  ordinal {integer} NOT NULL,
  key {text} NOT NULL,
  study {text} NOT NULL,
  target {text} NOT NULL,
  session {text} NOT NULL,
  position {text} NOT NULL,
  arm {text} NOT NULL,
  battery {text} NOT NULL,
  stimulus {text} NOT NULL,
  paraphrase {integer} NOT NULL,
  replicate {integer} NOT NULL,
  prefix {text} NOT NULL REFERENCES blob(sha256),
  PRIMARY KEY (run, ordinal)
){by_key}""",
    """CREATE TABLE request (
  key {text} PRIMARY KEY,
  target {text} NOT NULL,
  context {text} NOT NULL REFERENCES blob(sha256),
  ask {text} NOT NULL,
  decoding {text} NOT NULL,
  sample {integer} NOT NULL
){by_key}""",
    """CREATE TABLE attempt (
  id {serial},
  key {text} NOT NULL REFERENCES request(key),
  run {text} NOT NULL REFERENCES run(id),
  begun_at {text} NOT NULL,
  ended_at {text},
  outcome {text},
  text {text},
  stop_reason {text},
  failure {text},
  message {text},
  status {integer},
  served_model {text},
  seconds {real},
  input {integer},
  cached {integer},
  cache_write {integer},
  output {integer},
  reasoning {integer}
)""",
    "CREATE INDEX attempt_key ON attempt(key)",
    """CREATE TABLE reply (
  key {text} PRIMARY KEY REFERENCES request(key),
  attempt {integer} NOT NULL REFERENCES attempt(id),
  settled {integer} NOT NULL
){by_key}""",
    """CREATE TABLE verdict (
  reply_key {text} NOT NULL REFERENCES reply(key),
  scorer {text} NOT NULL,
  scorer_version {text} NOT NULL,
  value {real},
  invalid {text},
  detail {text} NOT NULL,
  PRIMARY KEY (reply_key, scorer, scorer_version)
){by_key}""",
)


def first_tables(database: Database) -> None:
    """Make the tables of release 0.1.0."""
    for table in _TABLES:
        database.define(table)
