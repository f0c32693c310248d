"""Reading a large session: ours against `json.loads` of each line, and an orjson pass.

    python benchmarks/reading.py [--mb 300] [--repetitions 3]

Three contenders (`reading_contenders.py`), each in a process of its own, take turns;
printed are medians. Counted is the whole process as the system counted it, interpreter
and imports included: wall and CPU seconds, peak resident memory. "work" is the wall time
without the start of the interpreter and the imports. CPU seconds of ours hold the SHA-256
of the file, which runs in a thread beside the indexing. Targets against `json.loads` of
each line into a list: 4 times faster, a tenth of the memory. Exit code 1 when missed.
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

LEAST_SPEED = 4.0
LEAST_SAVING = 10.0


class Run(NamedTuple):
    """One process of one contender."""

    wall: float  # seconds, from start to end of the process
    work: float  # seconds, without the interpreter's start and the imports
    cpu: float  # seconds, user and system, all threads
    mb: float  # peak resident memory
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
    print(f"A session of {options.mb} MB, medians of {options.repetitions} interleaved runs\n")
    return print_table({name: middle(each) for name, each in runs.items()})


def run_apart(name: str, path: Path) -> Run:
    """Run one contender in a process of its own, and ask the system what it took."""
    program = Path(__file__).with_name("reading_contenders.py")
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, program, name, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        work, did = process.stdout.read().split(maxsplit=1)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    return Run(wall, float(work), cpu, used.ru_maxrss / 1024, did.strip())


def middle(runs: list[Run]) -> Run:
    """The median of each measure."""
    wall, work, cpu, mb, did = zip(*runs, strict=True)
    return Run(median(wall), median(work), median(cpu), median(mb), did[0])


def print_table(results: dict[str, Run]) -> int:
    """The measures and their ratios; 0 if both targets are met, else 1."""
    print(f"{'':18}{'wall s':>8}{'work s':>8}{'CPU s':>8}{'peak MB':>9}   what it did")
    for name, run in results.items():
        print(f"{name:18}{run.wall:8.2f}{run.work:8.2f}{run.cpu:8.2f}{run.mb:9.0f}   {run.did}")
    base, floor, ours = (results[name] for name in CONTENDERS)
    speed, saving = base.wall / ours.wall, base.mb / ours.mb
    print(f"\nagainst json.loads list: {speed:.2f}x faster (target {LEAST_SPEED:.0f})")
    print(f"                         {base.work / ours.work:.2f}x faster without start and imports")
    print(f"                         {base.cpu / ours.cpu:.2f}x less CPU")
    print(f"                         {saving:.1f}x less memory (target {LEAST_SAVING:.0f})")
    print(f"against orjson pass:     {floor.wall / ours.wall:.2f}x its speed")
    return int(speed < LEAST_SPEED or saving < LEAST_SAVING)


if __name__ == "__main__":
    sys.exit(main())
