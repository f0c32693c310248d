"""What more nodes bring: measured on two, computed for 1, 10 and 100.

Run `python benchmarks/scale.py` (needs Ray and Debian's postgresql; `--cells 2000 --latency 0.2`).
It starts a server, a database and a Ray cluster of two nodes on this machine, collects the same
plan in one process and on the cluster, and prints what a call costs each part. What follows for
more nodes is arithmetic on these figures, and is printed as such. Times on a machine that is busy
with something else mean little; the counts for each call do not depend on it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servers.ray_nodes import Cluster

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))
NODES = (1, 10, 100)
CPUS = 4  # workers of a node, in the arithmetic
SLOTS = 64  # calls at once of a worker, at most
LATENCY = 2.0  # seconds of a call, in the arithmetic
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """One collection."""

    calls: int
    seconds: float
    cpu: float  # seconds, of those who ask
    commits: int  # of the database, reads too


def main() -> int:
    options = _arguments()
    from servers.postgres import PostgresServer, programs
    from servers.ray_nodes import Cluster

    found = programs()
    if found is None:
        print("no PostgreSQL server here: apt-get install postgresql")
        return 1
    os.environ["OPENAI_API_KEY"] = "sk-none"
    with (
        _server(options.latency) as url,
        closing(PostgresServer(found)) as postgres,
        closing(Cluster(node={}, OPENAI_API_KEY="sk-none")) as cluster,
    ):
        os.environ |= cluster.environment
        alone = _collect(options.cells, url, postgres.url(), None)
        spread = _collect(options.cells, url, postgres.url(), cluster)
        trip = _round_trip()
    words = {nodes: _words_a_call(nodes * CPUS) for nodes in NODES}
    print("\n".join(_report(alone, spread, _hub_seconds(), trip, words)))
    return 0


def _collect(cells: int, url: str, database: str, cluster: Cluster | None) -> Measured:
    """Collect a plan into a new store, in this process or on the nodes of a cluster."""
    from contextecho.engine import Place, collect, collect_on
    from contextecho.models import open_model
    from contextecho.store import open_store
    from store.plans import make_plan
    from store.raw import query

    plan = make_plan(
        positions=6,
        probes=20,
        replicates=max(1, cells // 240),
        prefix_chars=30_000,
        prefix_turns=40,
    )
    place = Place(on="ray", store=database, base_url=url, key_env=None, timeout=60.0)
    how = collect if cluster is None else partial(collect_on, place)

    async def work() -> int:
        async with open_model("openai/one", base_url=url) as model:
            with open_store(database) as store:
                run = store.begin_run(plan, "scale", {})
                done = await how(plan, store, run, {model.id: model})
        assert done.complete, done
        return done.total

    committed = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    before, cpu, began = query(database, committed), _cpu(cluster), time.perf_counter()
    calls = asyncio.run(work())
    seconds = time.perf_counter() - began
    cpu = _cpu(cluster) - cpu
    time.sleep(2)  # the server counts its commits about once a second
    commits = query(database, committed)[0][0] - before[0][0]
    return Measured(calls, seconds, cpu, commits)


def _cpu(cluster: Cluster | None) -> float:
    """Seconds so far, of this process or of all that runs on the nodes."""
    if cluster is None:
        return time.process_time()
    ticks = 0
    for pid in {pid for node in cluster.nodes for pid in node.pids()}:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def _words_a_call(workers: int) -> float:
    """Exchanges with the hub for each call, counted on a clock that jumps: no time is measured."""
    from contextecho.engine import Limits
    from contextecho.store import open_store
    from engine.models import ScriptedModel
    from engine.spreading import Spread
    from servers.virtual import run_virtually
    from store.plans import make_plan

    plan = make_plan(positions=(workers + 1) // 2, probes=100)
    model = ScriptedModel("openai/one", seconds=LATENCY)

    async def work(folder: str) -> float:
        with open_store(folder) as store:
            limits = Limits(concurrency=8 * workers, most_concurrency=SLOTS * workers)
            spread = Spread(plan, store, {model.id: model}, limits=limits)
            await spread.work(workers)
        return spread.near.exchanges / len(model.asked)

    with tempfile.TemporaryDirectory() as folder:
        return run_virtually(work(folder))


def _hub_seconds() -> float:
    """CPU seconds of one exchange at the hub, 400 workers joined."""
    from contextecho.engine import Limits, Tally
    from contextecho.engine.sizes import Weight
    from contextecho.engine.spread.hub import Hub
    from contextecho.engine.spread.words import Ask, Joining

    hub = Hub(Limits(concurrency=3_200, most_concurrency=25_600), time.monotonic, room=1e9)
    weight = Weight(size=30_000, output=300)
    asks = []
    for number in range(400):
        name = f"w{number}"
        hub.join(Joining(worker=name, account="a", most=None, cached_count=True, weight=weight))
        asks.append(
            Ask(
                worker=name,
                now=0.0,
                back=(),
                in_flight=4,
                passes=0,
                most=50,
                worst=1.0,
                short=0.0,
                held=4.0,
                spent=4.0,
                tally=Tally(total=100),
                said=(),
            )
        )
    began = time.process_time()
    for ask in asks:
        hub.exchange(ask)
    return (time.process_time() - began) / len(asks)


def _round_trip() -> float:
    """Seconds until an actor of the cluster has answered, the median of many."""
    import ray

    class Echo:
        def say(self, word: bytes) -> bytes:
            return word

    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    try:
        echo = ray.remote(Echo).options(num_cpus=0).remote()
        times = []
        for _ in range(300):
            began = time.perf_counter()
            ray.get(echo.say.remote(bytes(1_000)))
            times.append(time.perf_counter() - began)
    finally:
        ray.shutdown()
    return median(times)


def _report(
    alone: Measured, spread: Measured, hub: float, trip: float, words: dict[int, float]
) -> Iterator[str]:
    for name, run in (("one process", alone), ("two nodes", spread)):
        yield f"{name}: {run.calls:,} calls"
        yield f"  calls a second         {run.calls / run.seconds:,.0f} (with its start)"
        yield f"  CPU a call             {run.cpu / run.calls * 1e3:.2f} ms"
        yield f"  transactions a call    {run.commits / run.calls:.2f} (one is a look-up)"
    ratio = spread.cpu / spread.calls / (alone.cpu / alone.calls)
    yield f"CPU a call, nodes over one process, Ray's own included: {ratio:.1f}"
    yield f"the hub: {hub * 1e6:.0f} us of CPU an exchange of 400 workers"
    yield f"a word to an actor and back: {trip * 1e3:.1f} ms"
    yield f"computed for nodes of {CPUS} CPUs and calls of {LATENCY:g} s, {SLOTS} at once a worker:"
    for nodes, each in words.items():
        calls = nodes * CPUS * SLOTS / LATENCY
        yield (
            f"  {nodes:>3} nodes: at most {calls:>8,.0f} calls a second;"
            f" {each:.2f} words a call to the hub, which is {each * calls * hub:.1%} of its core;"
            f" {calls * alone.cpu / alone.calls / (nodes * CPUS):.0%} of each CPU;"
            f" {calls * spread.commits / spread.calls:,.0f} transactions a second"
        )


@contextmanager
def _server(latency: float) -> Iterator[str]:
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "servers.fake", "--no-record", f"--latency={latency}"]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cells", type=int, default=2_400, help="a multiple of 240")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds, of the server")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
