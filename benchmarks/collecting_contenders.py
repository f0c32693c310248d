"""What `collecting.py` compares, one contender a process: `collecting_contenders.py NAME ...`.

The one thing to know: each imports only what it needs and reads the bodies before its clock
starts. Printed as JSON: calls, user plus system time and wall time of the work, peak memory;
of the floor and of ours also the seconds from the first call sent to the last answer.
The SDK and Inspect run under a Python of their own, which has no contextecho.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

Body = dict[str, Any]
PROBES, ARMS, POSITIONS = 25, 2, 4
PREFIX_CHARS, PREFIX_TURNS = 30_000, 40


Run = Callable[[], float | None]
"""Does the work; gives the seconds from the first call to the last answer, where it knows them."""


def floor(options: argparse.Namespace) -> Run:
    """Bare aiohttp: the same bytes posted, each answer read and parsed."""
    import aiohttp

    bodies = [line.rstrip(b"\n") for line in _lines(options)]

    async def run() -> float:
        url = f"{options.url}/chat/completions"
        headers = {"content-type": "application/json"}

        async def post(body: bytes) -> None:
            async with session.post(url, data=body, headers=headers) as response:
                json.loads(await response.read())

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            began = time.perf_counter()
            await _side_by_side(bodies, post, options.concurrency)
            return time.perf_counter() - began

    return lambda: asyncio.run(run())


def sdk(options: argparse.Namespace) -> Run:
    """The openai SDK's `chat.completions.create`."""
    from openai import AsyncOpenAI

    bodies = [json.loads(line) for line in _lines(options)]

    async def run() -> None:
        async with AsyncOpenAI(base_url=options.url, api_key="none") as client:

            async def create(body: Body) -> None:
                await client.chat.completions.create(**body)

            await _side_by_side(bodies, create, options.concurrency)

    return lambda: asyncio.run(run())


def inspect(options: argparse.Namespace) -> Run:
    """Inspect's `eval()` with its log, one sample a call."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
    from inspect_ai.solver import generate

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    samples = [
        Sample(
            id=number,
            input=[kinds[m["role"]](content=m["content"]) for m in json.loads(line)["messages"]],
        )
        for number, line in enumerate(_lines(options))
    ]

    def run() -> None:
        (log,) = eval(
            Task(dataset=samples, solver=generate(), name="bench"),
            model="openai/one",
            model_base_url=options.url,
            model_args={"api_key": "none", "responses_api": False},
            max_connections=options.concurrency,
            max_samples=options.concurrency,
            log_dir=options.folder,
            display="none",
        )
        assert log.status == "success", log.error

    return run


def ours(options: argparse.Namespace) -> Run:
    """The whole engine: keys, ledger, wire format, parsing, store."""
    from contextecho.engine import Limits, collect, run_in_loop
    from contextecho.models import open_model
    from contextecho.store import open_store

    plan = make_plan(options.calls)
    model = open_model("openai/one", base_url=options.url)
    limits = Limits(concurrency=options.concurrency, most_concurrency=options.concurrency)

    def run() -> float:
        with open_store(options.folder) as store:
            begun = store.begin_run(plan, "s", {})
            work = collect(plan, store, begun, {model.id: model}, limits=limits)
            done = run_in_loop(work, [model])
            assert done.done == options.calls, done
            return _calling(store.database.file)

    return run


def judged(options: argparse.Namespace) -> Run:
    """Ours, and every reply judged by a second model on the same server."""
    from contextecho.api import prepare
    from contextecho.engine import Limits
    from contextecho.models import open_model

    plan = make_plan(options.calls)
    models = {
        target: open_model(target, base_url=options.url)
        for target in ("openai/one", "openai/judge")
    }
    limits = Limits(concurrency=options.concurrency, most_concurrency=options.concurrency)

    def run() -> None:
        with prepare(plan, judge="openai/judge", models=models) as prepared:
            done = prepared.collect(options.folder, limits=limits)
            assert done.judging is not None
            assert done.judging.judged == options.calls, done.judging

    return run


def planning(options: argparse.Namespace) -> Run:
    """A plan estimated and written down as a run; nothing is asked."""
    from contextecho.engine import estimate_plan
    from contextecho.store import open_store

    plan = make_plan(options.calls)

    def run() -> None:
        estimate_plan(plan)
        with open_store(options.folder) as store:
            store.begin_run(plan, "s", {})

    return run


def bodies(options: argparse.Namespace) -> Run:
    """No contender: writes the bytes that our wire layer would send, one body a line."""
    from contextecho.engine.collect import plan_work
    from contextecho.models import open_model
    from contextecho.models.openai_chat import OpenAIChat

    model = open_model("openai/one", base_url="http://127.0.0.1:9/v1")
    assert isinstance(model, OpenAIChat)

    def run() -> None:
        with options.bodies.open("wb") as file:
            for groups in plan_work(make_plan(options.calls)).values():
                for group in groups:
                    file.writelines(model.body(request) + b"\n" for request in group)

    return run


def make_plan(calls: int) -> Any:
    """A plan of so many cells on eight prefixes of 30,000 characters in 40 messages."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from store.plans import make_plan

    return make_plan(
        positions=POSITIONS,
        probes=PROBES,
        replicates=calls // (PROBES * ARMS * POSITIONS),
        prefix_chars=PREFIX_CHARS,
        prefix_turns=PREFIX_TURNS,
    )


def _calling(store: Path) -> float:
    """Seconds from the first call sent to the last answer, by the ledger."""
    with closing(sqlite3.connect(store)) as db:
        moments = db.execute("SELECT min(begun_at), max(ended_at) FROM attempt").fetchone()
    began, ended = map(datetime.fromisoformat, moments)
    return (ended - began).total_seconds()


def _lines(options: argparse.Namespace) -> list[bytes]:
    with options.bodies.open("rb") as file:
        return [line for line, _ in zip(file, range(options.calls), strict=False)]


async def _side_by_side(items: list[Any], ask: Callable[[Any], Awaitable[None]], most: int) -> None:
    waiting = iter(items)

    async def lane() -> None:
        for item in waiting:
            await ask(item)

    await asyncio.gather(*(lane() for _ in range(most)))


CONTENDERS = (floor, sdk, inspect, ours, judged, planning, bodies)


def main() -> None:
    """Run one contender and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("contender", choices=[contender.__name__ for contender in CONTENDERS])
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--url")
    parser.add_argument("--bodies", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as options.folder:
        run = {contender.__name__: contender for contender in CONTENDERS}[options.contender](
            options
        )
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        calling = run()
        after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    took = {"calls": options.calls, "cpu": cpu, "seconds": seconds}
    if calling is not None:
        took["calling"] = calling
    print(json.dumps({**took, "megabytes": after.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
