"""SQLite files that break, go away or fill the disk while they are open."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contextecho.errors import DataError
from contextecho.store import RunInfo, Store, open_store
from contextecho.store.databases import sqlite_files
from contextecho.studies import Plan
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan


def test_a_store_that_breaks_while_it_is_open_is_a_data_error(plan: Plan, tmp_path: Path):
    file = tmp_path / "a.sqlite"
    with open_store(file) as store:
        run = store.begin_run(plan, "s", VERSIONS)
        for part in (file, file.with_name(f"{file.name}-wal")):
            part.write_bytes(b"\xff" * max(8192, part.stat().st_size))
        with pytest.raises(DataError, match="the store cannot be written"):
            store.open_attempt(run.id, plan.request(plan.cells[0]))


def test_a_store_deleted_while_it_is_open_is_not_written_on(plan: Plan, tmp_path: Path):
    if os.name != "posix":
        pytest.skip("Windows deletes no open file")
    file = tmp_path / "a.sqlite"
    with open_store(file) as store:
        run = store.begin_run(plan, "s", VERSIONS)
        attempt = store.open_attempt(run.id, plan.request(plan.cells[0]))
        file.unlink()
        with pytest.raises(DataError, match="moved or deleted"):
            store.settle(attempt, answer())
        file.write_bytes(b"")  # another file of the same name is not it either
        with pytest.raises(DataError, match="moved or deleted"):
            store.open_attempt(run.id, plan.request(plan.cells[1]))


@pytest.fixture
def kept(plan: Plan, tmp_path: Path) -> Path:
    """A store of many replies, closed."""
    file = tmp_path / "kept.sqlite"
    wide = make_plan(probes=40)
    with open_store(file) as store:
        run = store.begin_run(wide, "s", VERSIONS)
        for cell in wide.cells[:100]:
            ask(store, run, wide.request(cell), answer("x" * 500))
    return file


def ask_rest(store: Store, run: RunInfo, wide: Plan, text: str) -> None:
    for cell, _ in list(store.missing(run.id)):
        ask(store, run, wide.request(cell), answer(text))


def test_a_full_disk_says_what_to_do_and_loses_nothing(kept: Path):
    wide = make_plan(probes=40)
    with open_store(kept) as store:
        run, db = store.find_run(), store.database._db
        db.execute("PRAGMA max_page_count = 1")  # SQLite takes it as: not one page more
        with pytest.raises(DataError, match=r"disk is full \(make room, then give the") as told:
            ask_rest(store, run, wide, "y" * 5000)
        assert "kept.sqlite" in str(told.value)
        assert len([s for s in store.replies(run.id) if s.reply]) >= 100  # it can still be read
    with open_store(kept) as store:  # there is room again
        ask_rest(store, run, wide, "now")
        texts = [stored.reply.text for stored in store.replies(run.id) if stored.reply]
        assert texts[:100] == ["x" * 500] * 100
        assert len(texts) == len(wide.cells)


def test_a_limit_on_file_sizes_is_told_as_one(kept: Path):
    resource = pytest.importorskip("resource")
    wide = make_plan(probes=40)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(kept) as store:
        run = store.find_run()
        resource.setrlimit(resource.RLIMIT_FSIZE, (kept.stat().st_size, before[1]))
        try:
            with pytest.raises(DataError, match=r"cannot be written: .*ulimit -f"):
                ask_rest(store, run, wide, "y" * 50_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        ask(store, run, wide.request(wide.cells[100]), answer())  # the limit is gone
    with open_store(kept) as store:
        assert len([s for s in store.replies(run.id) if s.reply]) > 100


def test_a_store_that_another_process_holds_is_not_waited_for_for_ever(
    kept: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sqlite_files, "BUSY_SECONDS", 0.05)
    wide = make_plan(probes=40)
    with open_store(kept) as store, closing(sqlite3.connect(kept, isolation_level=None)) as other:
        run = store.find_run()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="another process holds it"):
            store.open_attempt(run.id, wide.request(wide.cells[100]))
        with open_store(kept, create=False) as reader:  # reading is always possible
            assert len(list(reader.replies(run.id))) == len(wide.cells)
        with pytest.raises(DataError, match="another process holds it"):
            open_store(kept)
        other.execute("ROLLBACK")
        store.open_attempt(run.id, wide.request(wide.cells[100]))


def use_it_all(file: Path) -> None:
    with open_store(file) as store:
        for run in store.runs():
            store.plan(run.id)
            list(store.replies(run.id))
            store.spend(run.id)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_a_data_error(kept: Path, share: float):
    content = kept.read_bytes()
    kept.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataError, match=r"kept\.sqlite"):
        use_it_all(kept)
