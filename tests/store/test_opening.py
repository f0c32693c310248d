from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


def test_an_empty_file_is_no_store_for_who_only_reads(tmp_path: Path):
    empty = tmp_path / "cut.sqlite"
    empty.touch()
    with pytest.raises(UsageError, match="there is no store here"):
        open_store(empty, create=False)
    assert empty.stat().st_size == 0


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


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user whom file modes bind; nothing to do where we are one."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shown() -> Iterator[Path]:
    """A store with one run, in a directory that everybody may read and nobody may write."""
    if os.name != "posix":
        pytest.skip("file modes are POSIX")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with open_store(directory) as store:
            store.begin_run(make_plan(), "s", {})
        yield directory
        directory.chmod(0o755)


def close_to_writers(directory: Path) -> None:
    for file in directory.iterdir():
        file.chmod(0o444)
    directory.chmod(0o555)


def test_a_read_only_store_can_be_read_and_says_so_when_written(shown: Path):
    close_to_writers(shown)
    with unprivileged():
        with open_store(shown, create=False) as store:
            run = store.find_run()
            assert store.plan(run.id) == make_plan()
            with pytest.raises(DataError, match="the store is read-only"):
                store.begin_run(make_plan(), "s", {})
            with pytest.raises(DataError, match="no lock can be made"), store.collecting(run.id):
                pass
        with pytest.raises(DataError, match="the store is read-only"):
            open_store(shown)
    assert [file.name for file in shown.iterdir()] == ["store.sqlite"]


def test_a_read_only_file_in_a_writable_directory_can_be_read(shown: Path):
    shown.chmod(0o777)
    (shown / "store.sqlite").chmod(0o444)
    with unprivileged(), open_store(shown, create=False) as store:
        assert store.find_run()


def test_a_read_only_store_with_replies_in_its_log_is_not_read_without_them(shown: Path):
    (shown / "store.sqlite-wal").write_bytes(b"frames")
    close_to_writers(shown)
    with unprivileged(), pytest.raises(DataError, match="still in store"):
        open_store(shown, create=False)


def test_a_read_only_store_of_an_older_schema_says_what_to_do(shown: Path):
    with sqlite3.connect(shown / "store.sqlite") as db:
        db.execute("PRAGMA user_version = 0")
    db.close()
    close_to_writers(shown)
    with unprivileged(), pytest.raises(DataError, match="brought up to date"):
        open_store(shown, create=False)


def test_a_directory_that_may_not_be_entered_is_a_data_error(shown: Path):
    shown.chmod(0o700 if not os.geteuid() else 0)
    with unprivileged(), pytest.raises(DataError, match="cannot be opened"):
        open_store(shown, create=False)
