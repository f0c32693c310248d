from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from contextecho.errors import DataError, UsageError
from contextecho.models import Answer
from contextecho.store import open_store
from store.plans import make_plan


def test_a_directory_becomes_a_private_store_that_git_ignores(tmp_path: Path):
    with open_store(tmp_path / ".contextecho"):
        pass
    assert (tmp_path / ".contextecho" / ".gitignore").read_text() == "*\n"
    if os.name == "posix":
        mode = stat.S_IMODE((tmp_path / ".contextecho").stat().st_mode)
        assert mode & 0o077 == 0


def test_a_sqlite_path_is_the_file_itself(tmp_path: Path):
    with open_store(tmp_path / "a.sqlite") as store:
        run = store.begin_run(make_plan(), "s", {})
    with open_store(str(tmp_path / "a.sqlite"), create=False) as store:
        assert store.find_run().id == run.id
    assert not (tmp_path / ".gitignore").exists()


def test_no_store_and_not_to_create_one_is_a_usage_error(tmp_path: Path):
    with pytest.raises(UsageError, match="there is no store here"):
        open_store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_text_file_is_refused_and_left_alone(tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database at all, but long enough to be looked at " * 10)
    before = file.read_bytes()
    with pytest.raises(DataError, match="not a usable SQLite file"):
        open_store(file)
    assert file.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path):
    file = tmp_path / "other.sqlite"
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE theirs (a)")
    before = file.read_bytes()
    with pytest.raises(DataError, match="not a contextecho store"):
        open_store(file)
    assert file.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path):
    file = tmp_path / "a.sqlite"
    open_store(file).close()
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(DataError, match="schema 99"):
        open_store(file)


def test_a_damaged_file_is_a_data_error_not_a_traceback(tmp_path: Path):
    file = tmp_path / "a.sqlite"
    plan = make_plan(probes=40)
    with open_store(file) as store:
        run = store.begin_run(plan, "s", {})
        for cell in plan.cells:
            store.settle(store.open_attempt(run.id, plan.request(cell)), Answer(text="x" * 500))
    damaged = bytearray(file.read_bytes())
    damaged[8192:] = b"\xff" * (len(damaged) - 8192)
    file.write_bytes(damaged)
    with pytest.raises(DataError), open_store(file) as store:
        list(store.replies(run.id))


def test_a_directory_that_cannot_be_made_is_a_data_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be opened"):
        open_store(tmp_path / "file" / "store")
