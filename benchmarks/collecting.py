"""Collecting against a local server: CPU a call, rate, memory; each beside a peer or a floor.

Run `python benchmarks/collecting.py`. The server is a process of its own and is not measured; each
contender is one too (`collecting_contenders.py`): user plus system time, wall time and peak memory,
as the system counted them. All that is compared is measured in one run, 64 calls at once.
A rate is one of calls: from the first that is sent to the last answer. That of the whole process,
for which opening the store and writing the run down count too, is printed beside it, and the
floor's.

    floor    aiohttp posting the same bytes, reading each answer
    ours     the whole engine: keys, ledger, wire format, parsing, store
    sdk      the openai SDK's `chat.completions.create`
    inspect  Inspect's `eval()` with its log

The last two need a Python that has them (`make contenders`, or CONTENDERS_PYTHON); without it they
are left out, and that is said. Exit code 1 when a figure misses its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
LATENCY = 0.2  # seconds
CONCURRENCY = 64
PLANNED = 1_000_000  # cells

MOST_TIMES_FLOOR = 2.0  # CPU of ours
LEAST_TIMES_INSPECT = 15.0  # CPU of inspect over ours
LEAST_OF_IDEAL = 0.9  # of concurrency / latency calls a second
LEAST_JUDGED = 0.4  # of the rate without a judge
MOST_GROWTH = 1.1  # of memory, from the smallest to the largest size
MOST_PLANNING = 60.0, 500.0  # CPU seconds, megabytes

Measured = dict[str, float]


class Bench:
    """A server's URL and the bodies to send, and contenders run against them."""

    def __init__(self, url: str, bodies: Path) -> None:
        self._url = url
        self._bodies = bodies

    def run(self, contender: str, calls: int, python: str = sys.executable) -> Measured:
        """One contender, once."""
        command = [python, str(HERE / "collecting_contenders.py"), contender]
        words = ["--url", self._url, "--bodies", str(self._bodies), "--calls", str(calls)]
        words += ["--concurrency", str(CONCURRENCY)]
        done = subprocess.run([*command, *words], stdout=subprocess.PIPE, check=True, env=_env())
        measured: Measured = json.loads(done.stdout.splitlines()[-1])
        return measured

    def best(self, contender: str, calls: int, rounds: int) -> Measured:
        """The round with the least CPU: what the machine was otherwise busy with only adds."""
        return min((self.run(contender, calls) for _ in range(rounds)), key=lambda one: one["cpu"])


def main() -> int:
    options = _arguments()
    missed: list[str] = []

    def hold(what: str, value: float, bound: str, *, holds: bool) -> None:
        print(f"  {what:<44} {value:>9,.2f}   ({bound})" + ("" if holds else "   MISSED"))
        if not holds:
            missed.append(what)

    with tempfile.TemporaryDirectory() as folder:
        bodies = Path(folder) / "bodies"
        Bench("", bodies).run("bodies", 2 * options.calls)
        with _server(0.0) as url:
            _compare_cpu(Bench(url, bodies), options, hold)
            _compare_memory(Bench(url, bodies), options, hold)
        with _server(LATENCY) as url:
            _compare_rates(Bench(url, bodies), options, hold)
    return int(bool(missed))


def _compare_cpu(bench: Bench, options: argparse.Namespace, hold) -> None:  # type: ignore[no-untyped-def]
    print(f"{options.calls:,} calls on prefixes of 30,000 characters in 40 messages, no latency")
    costs = {}
    for name in ("floor", "ours"):
        costs[name] = _shown(name, bench.best(name, options.calls, options.rounds))
    for name in ("sdk", "inspect"):
        if options.python is None:
            print(f"  {name:<10} left out: no Python that has it (make contenders)")
        else:
            costs[name] = _shown(name, bench.run(name, options.few, options.python))
    ratio = costs["ours"] / costs["floor"]
    hold("ours / floor", ratio, f"at most {MOST_TIMES_FLOOR}", holds=ratio <= MOST_TIMES_FLOOR)
    if "inspect" in costs:
        ratio = costs["inspect"] / costs["ours"]
        least = LEAST_TIMES_INSPECT
        hold("inspect / ours", ratio, f"at least {least}", holds=ratio >= least)


def _shown(name: str, measured: Measured) -> float:
    """Print a contender's CPU a call, in milliseconds, and return it."""
    cost = measured["cpu"] / measured["calls"] * 1000
    print(f"  {name:<10} {cost:6.2f} ms CPU a call, {measured['megabytes']:.0f} MB at most")
    return cost


def _compare_memory(bench: Bench, options: argparse.Namespace, hold) -> None:  # type: ignore[no-untyped-def]
    sizes = {cells: bench.run("ours", cells)["megabytes"] for cells in options.sizes}
    for cells, megabytes in sizes.items():
        print(f"  peak memory at {cells:>7,} cells: {megabytes:.0f} MB")
    growth = sizes[max(sizes)] / sizes[min(sizes)]
    hold("growth of memory", growth, f"at most {MOST_GROWTH}", holds=growth <= MOST_GROWTH)
    planned = bench.run("planning", options.planned)
    seconds, megabytes = MOST_PLANNING
    what = f"planning {options.planned:,} cells"
    cpu, peak = planned["cpu"], planned["megabytes"]
    hold(f"{what}, CPU seconds", cpu, f"at most {seconds:.0f}", holds=cpu <= seconds)
    hold(f"{what}, MB", peak, f"at most {megabytes:.0f}", holds=peak <= megabytes)


def _compare_rates(bench: Bench, options: argparse.Namespace, hold) -> None:  # type: ignore[no-untyped-def]
    print(f"{options.calls:,} calls, {LATENCY * 1000:.0f} ms latency, {CONCURRENCY} at once")
    whole, share, ideal = {}, {}, CONCURRENCY / LATENCY
    for name in ("floor", "ours", "judged"):
        measured = bench.run(name, options.calls)
        whole[name] = measured["calls"] / measured["seconds"]
        print(f"  {name:<10} {whole[name]:6.1f} cells a second, of the whole process")
        if "calling" in measured:
            share[name] = measured["calls"] / measured["calling"] / ideal
            print(f"  {name:<10} {share[name]:6.2f} of the ideal rate, once it runs")
    least = LEAST_OF_IDEAL
    hold("of the ideal rate", share["ours"], f"at least {least}", holds=share["ours"] >= least)
    ratio = whole["judged"] / whole["ours"]
    hold("with a judge / without", ratio, f"at least {LEAST_JUDGED}", holds=ratio >= LEAST_JUDGED)


@contextmanager
def _server(latency: float) -> Iterator[str]:
    command = [sys.executable, "-m", "servers.fake", "--no-record", "--by-request"]
    words = ["--latency", str(latency)]
    with subprocess.Popen(
        [*command, *words], env=_env(), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def _env() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _contenders_python() -> str | None:
    made = HERE.parent / ".contenders" / "bin" / "python"
    return os.environ.get("CONTENDERS_PYTHON") or (str(made) if made.exists() else None)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2_000, help="a multiple of 200")
    parser.add_argument("--few", type=int, default=400, help="calls of the SDK and of Inspect")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 200_000])
    parser.add_argument("--planned", type=int, default=PLANNED)
    parser.add_argument("--python", default=_contenders_python(), help="has openai and inspect_ai")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
