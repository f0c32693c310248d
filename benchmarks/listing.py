"""Many sessions: `sessions list` cold and warm, and `scan` over one process and two.

    python benchmarks/listing.py [--files 5000] [--repetitions 3]

Made-up sessions of many sizes (`made_up_session.py`), as clients leave them: 25 to a
folder. Every contender is a process of its own, and what is counted is the whole process
as the system counted it, interpreter, imports and workers included; all was compiled before,
as what is installed is. Contenders take turns, printed are medians. Targets: `sessions list`
without an index within 2 times the wall time of an orjson pass over the same lines; with one,
under 300 ms of CPU (`--help` beside it shows what starting takes here); `scan` with two
processes at least 1.3 times faster than with one, where there are two processors: what is
loaded before the work is shared out, the model that tells languages above all, does not
shrink. They mean something on a machine with nothing else to do. Exit code 1 when missed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from made_up_session import records

MOST_COLD = 2.0  # times the orjson pass
MOST_WARM = 0.300  # seconds of CPU
LEAST_SPEED_UP = 1.3  # two processes against one

_ORJSON = """
import os, sys, orjson
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            for line in file:
                orjson.loads(line)
"""
_SCAN = """
import sys
from pathlib import Path
from contextecho.scoring import screen_all
done = screen_all([Path(sys.argv[1])], processes=int(sys.argv[2]))
assert done.screens and not (done.unread or done.refused)
"""
_IDS = re.compile(r'("(?:uuid|parentUuid)": ")[0-9a-f]{8}')


class Run(NamedTuple):
    """One process."""

    wall: float  # seconds
    cpu: float  # seconds, user and system, workers included


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--files", type=int, default=5000)
    arguments.add_argument("--repetitions", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name, "sessions"), Path(name, "cache")
        size = write_sessions(folder, options.files)
        few = write_sessions(Path(name, "scanned"), options.files // 2)
        time.sleep(3)  # what was written less than two seconds ago is not kept
        runs = measure(folder, Path(name, "scanned"), cache, options.repetitions)
    print(f"{options.files} files, {size / 1e6:.0f} MB; scanned: half as many, {few / 1e6:.0f} MB")
    print(
        f"medians of {options.repetitions} interleaved runs, {len(os.sched_getaffinity(0))} CPUs\n"
    )
    return print_table({name: middle(each) for name, each in runs.items()})


def measure(folder: Path, scanned: Path, cache: Path, repetitions: int) -> dict[str, list[Run]]:
    """Every contender in turn. A cold list has no index; the warm one has the one it left."""
    ours = ("-m", "contextecho")
    index = cache / "sessions.msgpack"

    def forget() -> None:
        index.unlink(missing_ok=True)

    contenders: dict[str, tuple[Callable[[], None], tuple[object, ...]]] = {
        "orjson pass": (forget, ("-c", _ORJSON, folder)),
        "list, cold": (forget, (*ours, "sessions", "list", folder)),
        "list, warm": (lambda: None, (*ours, "sessions", "list", folder)),
        "--help": (lambda: None, (*ours, "--help")),
        "scan, 1 process": (lambda: None, ("-c", _SCAN, scanned, 1)),
        "scan, 2 processes": (lambda: None, ("-c", _SCAN, scanned, 2)),
    }
    for prepare, words in contenders.values():  # compiles what each imports
        prepare()
        run_apart([*map(str, words)], cache)
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, (prepare, words) in contenders.items():
            prepare()
            runs[name].append(run_apart([*map(str, words)], cache))
            if name == "list, cold":
                assert index.stat().st_size > 0, "the index was not kept"
    return runs


def run_apart(words: list[str], cache: Path) -> Run:
    compiled = {"PYTHONPYCACHEPREFIX": str(cache / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | {"CONTEXTECHO_CACHE": str(cache)} | compiled
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, errors.decode()
    return Run(wall, used.ru_utime + used.ru_stime)


def write_sessions(folder: Path, files: int) -> int:
    """Sessions of 2 kB to 2 MB, half of them under 25 kB, each a part of a long one; the bytes.

    The ids of the records are each file's own: none of them is a copy of another.
    """
    rng = random.Random(42)
    lines = [json.dumps(r, ensure_ascii=False) for r in itertools.islice(records(), 40_000)]
    first = [n for n, line in enumerate(lines) if '"role": "user", "content": "' in line]
    written = 0
    for number in range(files):
        size = min(2_000_000, max(2_000, int(rng.lognormvariate(10.1, 1.1))))
        project = folder / f"-home-dev-project-{number // 25:03}"
        project.mkdir(parents=True, exist_ok=True)
        path = project / f"{number:08x}-0000-4000-8000-000000000000.jsonl"
        start, text = rng.choice(first), list[str]()
        while sum(map(len, text)) < size or len(text) < 4:
            text.append(lines[(start + len(text)) % len(lines)])
        own = _IDS.sub(rf"\g<1>{number:08x}", "\n".join(text))
        path.write_text(own + "\n", encoding="utf-8")
        written += path.stat().st_size
    return written


def middle(runs: list[Run]) -> Run:
    """The median of each measure."""
    wall, cpu = zip(*runs, strict=True)
    return Run(median(wall), median(cpu))


def print_table(results: dict[str, Run]) -> int:
    """The measures and their ratios; 0 if the targets are met, else 1."""
    print(f"{'':20}{'wall s':>8}{'CPU s':>8}")
    for name, run in results.items():
        print(f"{name:20}{run.wall:8.2f}{run.cpu:8.2f}")
    floor, cold, warm, bare, one, two = results.values()
    cold_ratio = cold.wall / floor.wall
    speed_up = one.wall / two.wall
    print(
        f"\nlist, cold against the orjson pass: {cold_ratio:.2f}x its wall (target {MOST_COLD:.0f})"
    )
    print(f"list, warm: {warm.cpu * 1000:.0f} ms of CPU (target {MOST_WARM * 1000:.0f}); ", end="")
    print(f"{warm.cpu / bare.cpu:.1f}x --help, {cold.wall / warm.wall:.0f}x faster than cold")
    print(f"scan, two processes: {speed_up:.2f}x faster than one (target {LEAST_SPEED_UP})")
    may_scale = len(os.sched_getaffinity(0)) > 1
    missed = cold_ratio > MOST_COLD or warm.cpu > MOST_WARM
    return int(missed or (may_scale and speed_up < LEAST_SPEED_UP))


if __name__ == "__main__":
    sys.exit(main())
