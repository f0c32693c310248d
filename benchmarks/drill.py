"""The fault drill: a provider on its worst day, and a process that is killed again and again.

Run `make drill`, or `python benchmarks/drill.py --cells 2000 --kills 3`. One local server answers
each request with a text of its own (the same one every time) and now and then not at all: storms
of 429, 529, 500 and cut connections, answers that are slow, late, twice, half, malformed or of the
wrong type (tests/servers/weather.py). A client collects into one store, is killed with `kill -9` at
random moments, and the same command is given again until everything is answered. With libfaketime
(Debian: apt-get install libfaketime) the wall clock of the client jumps by hours meanwhile.

Then a calm client collects the same into another store, and the two are compared, reply for
reply. Exit code 1 if a reply is lost, stands twice, or differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
CONCURRENCY = 64
TIMEOUT, LATE = 1.0, 1.5  # seconds: of a call, and of an answer that comes too late
MOST_ROUNDS = 50
JUMP = 6 * 3600  # seconds, at most, forward or back
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"

REPLIES = """SELECT ordinal, cell.key, outcome, text, stop_reason, served_model, input, output
FROM cell LEFT JOIN reply USING (key) LEFT JOIN attempt ON attempt.id = reply.attempt
ORDER BY ordinal"""

TIMED_OUT = "SELECT count(*) FROM attempt WHERE message LIKE '%no complete answer within%'"


@dataclass
class Drill:
    """What one drill did."""

    kills: int
    rounds: int
    jumps: int | None  # None: there is no libfaketime
    calls: int  # as the server counted them
    answered: int  # by the server, with a whole answer
    faults: dict[str, int]
    attempts: int  # as the store counted them
    in_flight: int  # of these, never heard of again
    timed_out: int  # of these, given up by the client before the answer was complete
    kept: int  # answers in the ledger
    lost: int  # cells without a reply
    twice: int  # requests with more than one answer in the ledger
    differing: int  # cells whose reply is not that of the calm run

    @property
    def passed(self) -> bool:
        """Nothing lost, nothing twice, nothing different, and no answer unaccounted for."""
        accounted = self.unheard <= self.in_flight + self.timed_out
        return accounted and not (self.lost or self.twice or self.differing)

    @property
    def unheard(self) -> int:
        """Answers that the server sent and no client kept: it was dead, or had given up."""
        return self.answered - self.kept


def main() -> int:
    options = _arguments()
    if options.client:
        return _collect(options)
    with tempfile.TemporaryDirectory() as folder:
        drill = run_drill(Path(folder), options.cells, options.kills, options.seed)
    print(report(drill, options.cells))
    return int(not drill.passed)


def run_drill(folder: Path, cells: int, kills: int, seed: int) -> Drill:
    """Collect under faults and kills, then calmly, and compare."""
    luck = random.Random(seed)
    with _server("--weather", str(seed), "--late", str(LATE)) as url, _jumping(folder) as clock:
        moments = sorted(luck.randint(1, cells) for _ in range(kills))
        killed, rounds = 0, 0
        while rounds < MOST_ROUNDS:
            rounds += 1
            client = _client(url, folder / "stormy", cells, clock.environment)
            if killed < kills and _wait_for(client, url, moments[killed]):
                time.sleep(luck.uniform(0, 0.1))
                client.send_signal(signal.SIGKILL)
                killed += 1
            if client.wait() == 0:
                break
        stats = _stats(url)
    with _server() as url:
        _client(url, folder / "calm", cells, {}).wait()
    stormy, calm = _replies(folder / "stormy"), _replies(folder / "calm")
    return Drill(
        kills=killed,
        rounds=rounds,
        jumps=clock.jumps,
        calls=stats["calls"],
        answered=stats["answered"],
        faults=stats["faults"],
        attempts=_count(folder / "stormy", "SELECT count(*) FROM attempt"),
        in_flight=_count(folder / "stormy", "SELECT count(*) FROM attempt WHERE ended_at IS NULL"),
        timed_out=_count(folder / "stormy", TIMED_OUT),
        kept=_count(folder / "stormy", "SELECT count(*) FROM attempt WHERE outcome = 'answer'"),
        lost=sum(row[2] is None or row[2] == "failed" for row in stormy),
        twice=_count(
            folder / "stormy",
            "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE outcome != 'failed'"
            " GROUP BY key HAVING count(*) > 1)",
        ),
        differing=sum(a != b for a, b in zip(stormy, calm, strict=True)),
    )


def report(drill: Drill, cells: int) -> str:
    """The printout."""
    faults = ", ".join(f"{name} {count:,}" for name, count in sorted(drill.faults.items()))
    jumps = "none: libfaketime is not installed" if drill.jumps is None else f"{drill.jumps:,}"
    return "\n".join(
        (
            f"{cells:,} cells, {drill.rounds} commands, the same each time",
            f"  calls made           {drill.calls:,} (in the ledger {drill.attempts:,})",
            f"  retries              {drill.attempts - cells:,}",
            f"  faults               {faults}",
            f"  kills                {drill.kills}",
            f"  clock jumps          {jumps}",
            f"  in flight at a kill  {drill.in_flight:,}",
            f"  timed out            {drill.timed_out:,}",
            f"  answers unheard      {drill.unheard:,} (at most the two above together)",
            f"  replies lost         {drill.lost}",
            f"  replies duplicated   {drill.twice}",
            f"  replies differing    {drill.differing}",
            f"  store equal          {'yes' if drill.passed else 'NO'}",
        )
    )


# The client: a process of its own, so that it can be killed


def _collect(options: argparse.Namespace) -> int:
    from contextecho.engine import Limits, collect, run_in_loop
    from contextecho.models import open_model
    from contextecho.store import open_store
    from store.plans import make_plan

    probes, arms, positions = 25, 2, 4
    plan = make_plan(
        positions=positions,
        probes=probes,
        replicates=max(1, options.cells // (probes * arms * positions)),
        prefix_chars=3_000,
    )
    limits = Limits(
        attempts=20,
        concurrency=CONCURRENCY,
        most_concurrency=CONCURRENCY,
        first_delay=0.05,
        longest_delay=0.5,
        longest_wait=1.0,
        first_pause=0.05,
    )
    model = open_model("openai/one", base_url=options.url, timeout=TIMEOUT)
    with open_store(options.store) as store:
        run = store.begin_run(plan, "drill", {})
        done = run_in_loop(collect(plan, store, run, {model.id: model}, limits=limits), [model])
    return int(not done.complete)


def _client(
    url: str, store: Path, cells: int, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--client", "--url", url, "--store", str(store)]
    return subprocess.Popen([*command, "--cells", str(cells)], env={**_env(), **environment})


def _wait_for(client: subprocess.Popen[bytes], url: str, calls: int) -> bool:
    """Wait until the server has seen so many calls; False: the client ended before."""
    while client.poll() is None:
        if _stats(url)["calls"] >= calls:
            return True
        time.sleep(0.02)
    return False


# The wall clock


@dataclass
class _Clock:
    environment: dict[str, str]
    jumps: int | None


@contextmanager
def _jumping(folder: Path) -> Iterator[_Clock]:
    """Make the wall clock of later clients jump about, if libfaketime is there."""
    library = os.environ.get("LIBFAKETIME") or next(iter(Path("/").glob(FAKETIME[1:])), None)
    if library is None:
        yield _Clock({}, None)
        return
    offset = folder / "offset"
    offset.write_text("+0")
    clock = _Clock(
        {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        },
        0,
    )
    ended = threading.Event()
    luck = random.Random(0)

    def jump() -> None:
        while not ended.wait(0.5):
            fresh = offset.with_suffix(".new")
            fresh.write_text(f"{luck.randint(-JUMP, JUMP):+d}")
            fresh.replace(offset)
            clock.jumps = (clock.jumps or 0) + 1

    jumper = threading.Thread(target=jump)
    jumper.start()
    try:
        yield clock
    finally:
        ended.set()
        jumper.join()


# The server and the stores


@contextmanager
def _server(*options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "servers.fake", "--no-record", "--by-request", *options]
    with subprocess.Popen(command, env=_env(), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def _stats(url: str) -> dict:  # type: ignore[type-arg]
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats", timeout=60) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def _replies(store: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(store / "store.sqlite")) as db:
        return db.execute(REPLIES).fetchall()


def _count(store: Path, query: str) -> int:
    with closing(sqlite3.connect(store / "store.sqlite")) as db:
        return int(db.execute(query).fetchone()[0])


def _env() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cells", type=int, default=20_000, help="a multiple of 200")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
