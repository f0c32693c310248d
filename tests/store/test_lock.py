"""The lock between processes: one holder, no file left behind, none held by the dead."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contextecho.store.databases import LockedError
from contextecho.store.databases.lock import exclusive
from waiting import PATIENCE

HOLD = """
import sys, time
from pathlib import Path
from contextecho.store.databases.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(3600)
"""

# Each holder makes a file that must not be there and takes it away again.
TAKE_TURNS = """
import sys
from pathlib import Path
from contextecho.store.databases import LockedError
from contextecho.store.databases.lock import exclusive
lock, inside = Path(sys.argv[1]), Path(sys.argv[2])
turns = 0
while turns < 60:
    try:
        with exclusive(lock):
            inside.touch(exist_ok=False)
            inside.unlink()
            turns += 1
    except LockedError:
        pass
"""


def start(code: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, text=True
    )


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
        holder = start(HOLD, tmp_path / "a.lock")
        assert holder.wait(timeout=PATIENCE) == 1  # LockedError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)])
def test_a_dead_process_holds_nothing_and_leaves_one_file_at_most(tmp_path: Path, number: int):
    holder = start(HOLD, tmp_path / "a.lock")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(LockedError), exclusive(tmp_path / "a.lock"):
        pytest.fail("two holders")
    holder.send_signal(number)
    holder.wait(timeout=PATIENCE)
    assert {path.name for path in tmp_path.iterdir()} <= {"a.lock"}
    with exclusive(tmp_path / "a.lock"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_processes_that_come_and_go_never_hold_it_together(tmp_path: Path):
    takers = [start(TAKE_TURNS, tmp_path / "a.lock", tmp_path / "inside") for _ in range(3)]
    assert [taker.wait(timeout=PATIENCE) for taker in takers] == [0, 0, 0]
