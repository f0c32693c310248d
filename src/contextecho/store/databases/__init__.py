"""The kinds of database that can keep a store."""

from __future__ import annotations

from contextecho.store.databases.database import Database, InsertInto, Row, Statement, Value

__all__ = ["Database", "InsertInto", "Row", "Statement", "Value"]
