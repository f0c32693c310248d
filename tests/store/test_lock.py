"""The lock between processes: one holder, no file left behind, none held by the dead."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from commandline import run_copy, start_copy
from contextecho.store.databases import LockedError
from contextecho.store.databases.lock import exclusive


def test_it_leaves_nothing_behind_and_can_be_taken_again(tmp_path: Path):
    for _ in range(2):
        with exclusive(tmp_path / "a.lock"):
            pass
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), exclusive(tmp_path / "a.lock"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_one_process_has_one_holder_too(tmp_path: Path):
    with exclusive(tmp_path / "a.lock"):
        for _ in range(2):
            with pytest.raises(LockedError), exclusive(tmp_path / "a.lock"):
                pytest.fail("two holders")
        holder = run_copy("store.locking:hold", tmp_path / "a.lock")
        assert holder.returncode == 1
        assert b"LockedError" in holder.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)])
def test_a_dead_process_holds_nothing_and_leaves_one_file_at_most(tmp_path: Path, number: int):
    ours, its = os.pipe()
    holder = start_copy("store.locking:hold", tmp_path / "a.lock", files=(0, its, 2))
    os.close(its)
    assert os.read(ours, 80) == b"held\n"
    with pytest.raises(LockedError), exclusive(tmp_path / "a.lock"):
        pytest.fail("two holders")
    os.kill(holder.pid, number)
    assert holder.wait() == -number
    os.close(ours)
    assert {path.name for path in tmp_path.iterdir()} <= {"a.lock"}
    with exclusive(tmp_path / "a.lock"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_processes_that_come_and_go_never_hold_it_together(tmp_path: Path):
    words = ("store.locking:take_turns", tmp_path / "a.lock", tmp_path / "inside")
    takers = [start_copy(*words, files=(0, 1, 2)) for _ in range(3)]
    assert [taker.wait() for taker in takers] == [0, 0, 0]
