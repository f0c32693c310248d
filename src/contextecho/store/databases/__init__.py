"""The kinds of database that can keep a store."""

from __future__ import annotations

from contextecho.store.databases.database import (
    Database,
    InsertInto,
    LockedError,
    NoStoreError,
    Row,
    Statement,
    Value,
)

__all__ = ["Database", "InsertInto", "LockedError", "NoStoreError", "Row", "Statement", "Value"]
