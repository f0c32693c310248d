"""Work spread over processes: the same results, in the same order, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from contextecho.processes import core_count, spread
from waiting import PATIENCE

MANY = 64 << 20  # bytes: enough to be spread


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


IN_ORDER = f"""
import os
from contextecho.processes import spread
def square(number):
    return number * number, os.getpid()
items = list(range(100))
done = spread(square, items, [{MANY} // (n + 1) for n in items], processes=2)
assert [value for value, _ in done] == [n * n for n in items]
assert os.getpid() not in {{pid for _, pid in done}}
"""


def test_results_come_in_the_order_of_the_items_from_several_processes() -> None:
    """In a process of its own: this one may have threads, and its tests cannot be imported."""
    subprocess.run([sys.executable, "-c", IN_ORDER], check=True)


LOADED = f"""
import os, threading
from contextecho.processes import spread
loaded = []
def load():
    loaded.append(os.getpid())
def ask(_):
    return loaded
assert spread(ask, [1] * 8, [{MANY}] * 8, processes=2, load=load) == [[os.getpid()]] * 8
ended = threading.Event()
def bring_a_thread():
    threading.Thread(target=ended.wait, daemon=True).start()
assert spread(abs, [-1] * 8, [{MANY}] * 8, processes=2, load=bring_a_thread) == [1] * 8
assert spread(ask, [1], [1], load=load) == [[os.getpid()]]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker is no copy")
def test_what_all_need_is_loaded_once_and_threads_that_it_brings_do_no_harm() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True)


@pytest.mark.parametrize(("size", "processes"), [(1, 2), (MANY, 1)])
def test_little_work_or_one_process_stays_here(size: int, processes: int) -> None:
    done = spread(square, [1, 2, 3], [size] * 3, processes=processes)
    assert {pid for _, pid in done} == {os.getpid()}


def die_apart(parent: int) -> str:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_what_a_killed_worker_leaves_is_done_here() -> None:
    assert spread(die_apart, [os.getpid()] * 4, [MANY] * 4, processes=2) == ["done"] * 4


def fail(_: int) -> None:
    raise ValueError("a defect")


def test_an_exception_of_the_work_is_raised_here() -> None:
    with pytest.raises(ValueError, match="a defect"):
        spread(fail, [1, 2], [MANY] * 2, processes=2)


def test_nothing_is_nothing() -> None:
    assert spread(square, [], []) == []
    assert core_count() >= 1


@pytest.mark.parametrize("to_all", [True, False], ids=["from a terminal", "to us alone"])
def test_an_interrupt_ends_all_of_it_without_a_word(to_all: bool, interruptible: None) -> None:
    program = (
        "import os, time\nfrom contextecho.processes import spread\n"
        "def wait(n):\n    os.write(1, b'begun\\n'); time.sleep(1)\n"
        "try:\n    spread(wait, [1] * 8, [1 << 26] * 8, processes=2)\n"
        "except KeyboardInterrupt:\n    raise SystemExit(130)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, b"")


def test_workers_that_are_started_anew_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS, and wherever this process has threads."""
    import json
    from multiprocessing import get_context

    monkeypatch.setattr("contextecho.processes._context", lambda load: get_context("spawn"))
    texts = ["[1]", "[2]", "[3]"]
    assert spread(json.loads, texts, [MANY] * 3, processes=2) == [[1], [2], [3]]
