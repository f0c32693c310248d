"""Collecting against a server without latency: CPU a call, and memory as plans grow.

Run `python benchmarks/collecting.py`. The server is a process of its own and is
not measured. Each contestant is a process of its own too: user plus system time,
and peak resident memory, as the system counted them.

    floor   aiohttp posting the same bytes, eight at a time, reading each answer
    ours    the whole engine: plan, keys, ledger, wire format, parsing, store

Exit code 1 when CPU a call is more than 2.5 times the floor, or when 20,000 cells
take more than 1.25 times the memory of 1,000 (the plan itself, about 200 bytes a
cell, included).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
PREFIX_CHARS = 30_000
MOST_RATIO = 2.5
MOST_GROWTH = 1.25
IN_FLIGHT = 8


def main() -> int:
    options = _arguments()
    if options.contestant:
        print(json.dumps(_measure(options)))
        return 0
    with _server() as url:
        floor = _best("floor", url, options.calls, options.rounds)
        ours = _best("ours", url, options.calls, options.rounds)
        sizes = {n: _contest("ours", url, n)["megabytes"] for n in options.sizes}
    ratio = ours["cpu_ms"] / floor["cpu_ms"]
    print(
        f"{options.calls:,} calls on {PREFIX_CHARS:,}-character prefixes, best of {options.rounds}"
    )
    print(f"  floor (bare aiohttp)  {floor['cpu_ms']:.2f} ms CPU a call")
    print(f"  ours                  {ours['cpu_ms']:.2f} ms CPU a call")
    print(f"  ratio                 {ratio:.2f} (at most {MOST_RATIO})")
    for cells, megabytes in sizes.items():
        print(f"  peak memory at {cells:>6,} cells: {megabytes:.0f} MB")
    growth = max(sizes.values()) / min(sizes.values())
    print(f"  growth                {growth:.2f} (at most {MOST_GROWTH})")
    return int(ratio > MOST_RATIO or growth > MOST_GROWTH)


def _best(contestant: str, url: str, calls: int, rounds: int) -> dict[str, float]:
    """The round with the least CPU: what the machine was otherwise busy with only adds."""
    measured = [_contest(contestant, url, calls) for _ in range(rounds)]
    return min(measured, key=lambda one: one["cpu_ms"])


def _contest(contestant: str, url: str, calls: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--contestant", contestant, "--url", url]
    done = subprocess.run(
        [*command, "--calls", str(calls)], capture_output=True, text=True, check=True, env=_env()
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measure(options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        run = {"floor": _floor, "ours": _ours}[options.contestant]
        cpu = run(options.url, options.calls, Path(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_ms": cpu / options.calls * 1000, "megabytes": peak}


def _floor(url: str, calls: int, _: Path) -> float:
    import aiohttp

    bodies = _wire_bodies(calls)

    async def post(session: aiohttp.ClientSession, body: bytes) -> None:
        headers = {"content-type": "application/json"}
        async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
            json.loads(await response.read())

    async def lane(session: aiohttp.ClientSession, share: list[bytes]) -> None:
        for body in share:
            await post(session, body)

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(lane(session, bodies[i::IN_FLIGHT]) for i in range(IN_FLIGHT)))

    return _cpu_of(lambda: asyncio.run(run()))


def _wire_bodies(calls: int) -> list[bytes]:
    """The bytes that our wire layer would send, made before the clock starts."""
    from contextecho.engine.collect import plan_work
    from contextecho.models.openai_chat import OpenAIChat

    model = _open("http://127.0.0.1:9/v1")
    assert isinstance(model, OpenAIChat)
    requests = (r for groups in plan_work(_plan(calls)).values() for group in groups for r in group)
    return [model.body(request) for request in requests]


def _ours(url: str, calls: int, folder: Path) -> float:
    from contextecho.engine import Limits, collect, run_in_loop
    from contextecho.store import open_store

    model = _open(url)
    limits = Limits(concurrency=IN_FLIGHT, most_concurrency=IN_FLIGHT)
    plan = _plan(calls)
    with open_store(folder) as store:

        def work() -> None:
            run = store.begin_run(plan, "s", {})
            work = collect(plan, store, run, {model.id: model}, limits=limits)
            done = run_in_loop(work, [model])
            assert done.done == calls, done

        return _cpu_of(work)


def _cpu_of(work) -> float:  # type: ignore[no-untyped-def]
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _plan(calls: int):  # type: ignore[no-untyped-def]
    from store.plans import make_plan

    probes, arms, positions = 25, 2, 4
    return make_plan(
        positions=positions,
        probes=probes,
        replicates=calls // (probes * arms * positions),
        prefix_chars=PREFIX_CHARS,
    )


def _open(url: str):  # type: ignore[no-untyped-def]
    from contextecho.models import open_model

    return open_model("openai/one", base_url=url)


@contextmanager
def _server():  # type: ignore[no-untyped-def]
    command = [sys.executable, "-m", "servers.fake", "--no-record"]
    with subprocess.Popen(command, env=_env(), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TESTS)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--contestant", choices=["floor", "ours"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
