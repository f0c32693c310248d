"""The tables as statements name them; what they are made of stands in `migrations`."""

from __future__ import annotations

from sqlalchemy import TableClause, column, table

from contextecho.store import rows


def _table(name: str, *columns: str) -> TableClause:
    return table(name, *map(column, columns))


BLOB = _table("blob", "sha256", "zstd")
RUN = _table("run", *rows.RUN, "begun_at")
CELL = _table("cell", "run", "ordinal", "key", *rows.CELL)
REQUEST = _table("request", *rows.REQUEST)
ATTEMPT = _table("attempt", "id", "key", "run", "begun_at", "ended_at", *rows.REPLY)
REPLY = _table("reply", "key", "attempt", "settled")
VERDICT = _table("verdict", *rows.VERDICT)
BATCH = _table("batch", "id", *rows.BATCH)
BATCH_ITEM = _table("batch_item", "batch", "custom_id", "attempt")

EVERY = (BLOB, RUN, CELL, REQUEST, ATTEMPT, REPLY, VERDICT, BATCH, BATCH_ITEM)
