from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from contextecho.store import open_store

PAGE = Path(__file__).resolve().parents[2] / "docs" / "store.md"
BLOCKS = re.findall(r"```sql\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    open_store(tmp_path / "new.sqlite").close()
    return sqlite3.connect(tmp_path / "new.sqlite")


def test_the_page_shows_exactly_the_tables_of_a_new_store(db: sqlite3.Connection):
    live = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    assert {block for block in BLOCKS if block.startswith("CREATE")} == live


def test_the_queries_of_the_page_run(db: sqlite3.Connection):
    queries = [block for block in BLOCKS if block.startswith("SELECT")]
    assert len(queries) == 4
    for query in queries:
        db.execute(query).fetchall()
