"""Reading a large session: ours against `json.loads` of each line, and an orjson pass.

    python benchmarks/reading.py [--mb 300] [--repetitions 3]

Three contenders (`reading_contenders.py`), each in a process of its own, take turns;
printed are medians. Counted is the whole process as the system counted it, interpreter,
imports and helpers included: wall and CPU seconds. "work" is the wall time without the
start of the interpreter and the imports. Memory is seen in runs of its own: the most that
the process and its helpers held together, pages that they share counted once (the sum of
PSS). Targets, in wall time of the whole process: 6 times faster than `json.loads` of each line
into a list, at most 1.3 times an orjson pass that keeps nothing; and at most 250 MB. They mean
something on a machine with nothing else to do. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from made_up_session import write_session
from reading_contenders import CONTENDERS

LEAST_SPEED = 6.0  # times `json.loads` into a list
MOST_TIME = 1.3  # times the orjson pass
MOST_MEMORY = 250.0  # MB


class Run(NamedTuple):
    """One process of one contender."""

    wall: float  # seconds, from start to end of the process
    work: float  # seconds, without the interpreter's start and the imports
    cpu: float  # seconds, user and system, threads and helpers included
    did: str


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--mb", type=int, default=300)
    arguments.add_argument("--repetitions", type=int, default=3)
    options = arguments.parse_args()
    runs: dict[str, list[Run]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, options.mb * 1_000_000)
        for _ in range(options.repetitions):
            for name in CONTENDERS:
                runs[name].append(run_apart(name, path))
        peaks = {name: peak_memory(name, path) for name in CONTENDERS}
    print(f"A session of {options.mb} MB, medians of {options.repetitions} interleaved runs\n")
    return print_table({name: middle(each) for name, each in runs.items()}, peaks)


def start(name: str, path: Path) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("reading_contenders.py")
    return subprocess.Popen(
        [sys.executable, program, name, path], stdout=subprocess.PIPE, text=True
    )


def run_apart(name: str, path: Path) -> Run:
    """Run one contender in a process of its own, and ask the system what it took."""
    began = time.perf_counter()
    with start(name, path) as process:
        assert process.stdout is not None
        work, did = process.stdout.read().split(maxsplit=1)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall, float(work), used.ru_utime + used.ru_stime, did.strip())


def peak_memory(name: str, path: Path) -> float:
    """MB that a contender and its helpers held together at most, looked at every few ms."""
    most = 0
    with start(name, path) as process:
        while process.poll() is None:
            most = max(most, held_by(process.pid))
            time.sleep(0.002)
    return most / 1024


def held_by(pid: int) -> int:
    """KB of a process and its children, shared pages counted once; 0 when it is gone."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, ProcessLookupError):
        return 0
    own = next((line for line in rollup.splitlines() if line.startswith("Pss:")), "Pss: 0")
    return int(own.split()[1]) + sum(held_by(int(child)) for child in children)


def middle(runs: list[Run]) -> Run:
    """The median of each measure."""
    wall, work, cpu, did = zip(*runs, strict=True)
    return Run(median(wall), median(work), median(cpu), did[0])


def print_table(results: dict[str, Run], peaks: dict[str, float]) -> int:
    """The measures and their ratios; 0 if all targets are met, else 1."""
    print(f"{'':18}{'wall s':>8}{'work s':>8}{'CPU s':>8}{'peak MB':>9}   what it did")
    for name, run in results.items():
        times = f"{run.wall:8.2f}{run.work:8.2f}{run.cpu:8.2f}"
        print(f"{name:18}{times}{peaks[name]:9.0f}   {run.did}")
    base, floor, ours = (results[name] for name in CONTENDERS)
    speed, slowness, memory = base.wall / ours.wall, ours.wall / floor.wall, peaks["contextecho"]
    print(f"\nagainst json.loads list: {speed:.2f}x faster (target {LEAST_SPEED:.0f})")
    print(f"                         {base.work / ours.work:.2f}x faster without start and imports")
    print(f"                         {base.cpu / ours.cpu:.2f}x less CPU")
    print(f"                         {peaks['json.loads list'] / memory:.1f}x less memory")
    print(f"against orjson pass:     {slowness:.2f}x its time (target at most {MOST_TIME})")
    print(f"peak memory:             {memory:.0f} MB (target at most {MOST_MEMORY:.0f})")
    return int(speed < LEAST_SPEED or slowness > MOST_TIME or memory > MOST_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
