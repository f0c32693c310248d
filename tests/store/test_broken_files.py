"""SQLite files that break, go away or fill the disk while they are open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextecho.errors import DataError
from contextecho.store import open_store
from contextecho.studies import Plan
from store.kept import VERSIONS, answer


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
