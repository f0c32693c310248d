"""Cells with their replies, verdicts and attempts: three tables, in JSONL or Parquet.

The one thing to know: a file appears under its name when it is whole. The columns
are those of the store's own tables (docs/store.md); what a column does not know is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from contextecho.errors import UsageError
from contextecho.models import Usage
from contextecho.store import rows, statements
from contextecho.store.model import RunInfo, StoredReply, Verdict
from contextecho.store.store import Store

Record = Mapping[str, Any]
_AT_ONCE = 5000  # rows in memory

_TEXT, _WHOLE, _REAL = "text", "whole", "real"
_NUMBERS = (
    *("ordinal", "paraphrase", "replicate", "attempts", "attempt", "status"),
    *Usage.__struct_fields__,
)
_KINDS = {**dict.fromkeys(_NUMBERS, _WHOLE), **dict.fromkeys(("seconds", "value"), _REAL)}
_CELL = ("run", "ordinal", "key", *rows.CELL, "attempts", "collected_at", *rows.REPLY)
_VERDICT = ("run", *rows.VERDICT)
_ATTEMPT = ("attempt", "run", "key", "target", "begun_at", "ended_at", *rows.REPLY)


def export_tables(store: Store, runs: Iterable[RunInfo], folder: Path, form: str) -> list[Path]:
    """Write `cells`, `verdicts` and `attempts` of some runs into a folder, in one of `FORMATS`.

    Raises `UsageError` when Parquet is asked for and pyarrow is not there.
    """
    write = FORMATS[form]
    runs = tuple(runs)
    tables: dict[str, tuple[tuple[str, ...], Callable[[RunInfo], Iterator[Record]]]] = {
        "cells": (_CELL, lambda run: _cells(store, run)),
        "verdicts": (_VERDICT, lambda run: _verdicts(store, run)),
        "attempts": (_ATTEMPT, lambda run: _attempts(store, run)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (columns, records) in tables.items():
        file = folder / f"{name}.{form}"
        half = file.with_name(f".{file.name}.part")
        try:
            write(half, columns, (record for run in runs for record in records(run)))
            half.replace(file)
        finally:
            half.unlink(missing_ok=True)  # on a full disk it takes the room that is needed
        written.append(file)
    return written


def _cells(store: Store, run: RunInfo) -> Iterator[Record]:
    for ordinal, stored in enumerate(store.replies(run.id)):
        yield {
            "run": run.id,
            "ordinal": ordinal,
            "key": stored.key,
            **msgspec.to_builtins(stored.cell),
            "attempts": stored.attempts,
            "collected_at": stored.collected_at,
            **_reply(stored),
        }


def _reply(stored: StoredReply) -> Record:
    values = rows.reply_row(stored.reply) if stored.reply else (None,) * len(rows.REPLY)
    return dict(zip(rows.REPLY, values, strict=True))


def _verdicts(store: Store, run: RunInfo) -> Iterator[Record]:
    for verdict in store.verdicts(run.id):
        yield {"run": run.id, **_flat(verdict)}


def _flat(verdict: Verdict) -> Record:
    return dict(zip(rows.VERDICT, rows.verdict_row(verdict), strict=True))


def _attempts(store: Store, run: RunInfo) -> Iterator[Record]:
    for row in store.database.rows(statements.run_attempts, run.id):
        yield dict(zip(_ATTEMPT, row, strict=True))


def _write_jsonl(file: Path, columns: tuple[str, ...], records: Iterator[Record]) -> None:
    with file.open("wb") as out:
        for record in records:
            out.write(msgspec.json.encode({name: record[name] for name in columns}) + b"\n")


def _write_parquet(file: Path, columns: tuple[str, ...], records: Iterator[Record]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            f"Parquet needs pyarrow: {error}", todo="pip install 'contextecho[parquet]'"
        ) from error
    types = {_TEXT: pyarrow.string(), _WHOLE: pyarrow.int64(), _REAL: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[_KINDS.get(name, _TEXT)]) for name in columns])
    with parquet.ParquetWriter(file, schema, compression="zstd") as out:
        while some := list(islice(records, _AT_ONCE)):
            out.write_table(pyarrow.Table.from_pylist(some, schema=schema))


FORMATS: Mapping[str, Callable[[Path, tuple[str, ...], Iterator[Record]], None]] = {
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
"""How a table is written, by the ending of its file."""
