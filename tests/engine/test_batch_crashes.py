"""Killed with -9 between any two steps of a batch: found again, never handed in twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from commandline import Copy, run_copy, start_copy
from contextecho.store import BatchState, open_store
from contextecho.studies import Plan
from engine.batching import TARGETS, kept
from servers.batching import BatchingProvider
from servers.fake import by_request
from servers.serving import listening
from store.plans import make_plan
from waiting import wait_until


class Collecting:
    """A process that collects 40 cells in a batch."""

    def __init__(self, target: str, provider: BatchingProvider, folder: Path) -> None:
        names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY")
        keys = dict.fromkeys(names, "sk-test-0123456789")
        self._environment = {**os.environ, "NO_PROXY": "127.0.0.1", **keys}
        self._words = ("engine.collecting:in_a_batch", target, provider.url, folder)

    def start(self) -> Copy:
        return start_copy(*self._words, files=(0, 1, 2), env=self._environment)

    def kill(self, process: Copy) -> None:
        process.kill()
        assert process.wait() == -signal.SIGKILL

    def finish(self) -> tuple[int, int]:
        """Requests answered now, and found in the store."""
        done = run_copy(*self._words, env=self._environment)
        assert done.returncode == 0, done.stderr.decode()
        answered, reused = map(int, done.stdout.split())
        return answered, reused


@pytest.fixture(params=TARGETS[:2], ids=lambda target: target.partition("/")[0])
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def planned(target: str) -> Plan:
    return make_plan(targets=(target,), probes=10)


def still_out(folder: Path) -> int:
    """Requests of which nothing is written down yet."""
    with open_store(folder) as store:
        return store.spend(store.find_run().id).total.lost


def check(provider: BatchingProvider, folder: Path, plan: Plan) -> None:
    """Everything is answered, once, as the provider would answer it live; nothing is out."""
    assert provider.broken_rules == []
    assert set(provider.taken.values()) == set(provider.answered_items.values()) == {1}
    with open_store(folder) as store:
        run = store.find_run()
        found = kept(store, plan)
        assert store.batches.out(run.id) == 0
        assert store.spend(run.id).total.input == provider.billed_input
    assert set(found) == set(provider.answered_items)
    assert len({text for _, text, *_ in found.values()}) == len(found) == 40
    assert all(text.startswith("Answer ") for _, text, *_ in found.values())


def test_killed_after_writing_down_before_the_provider_has_it(tmp_path: Path, target: str) -> None:
    with listening(BatchingProvider(text=by_request)) as provider:
        process = Collecting(target, provider, tmp_path)
        provider.hold = "before"
        first = process.start()
        wait_until(lambda: provider.submitting == 1, first)
        process.kill(first)
        with open_store(tmp_path) as store:
            (batch,) = store.batches.unfinished(store.find_run().id)
        assert (batch.state, len(batch.items)) == (BatchState.OPENED, 40)
        provider.hold = None
        assert process.finish() == (40, 0)
        check(provider, tmp_path, planned(target))


def test_killed_after_the_provider_took_it_before_it_said_so(tmp_path: Path, target: str) -> None:
    with listening(BatchingProvider(text=by_request, looks=3)) as provider:
        process = Collecting(target, provider, tmp_path)
        provider.hold = "after"
        first = process.start()
        wait_until(lambda: len(provider.batches) == 1, first)
        process.kill(first)
        provider.hold = None
        assert process.finish() == (40, 0)
        assert len(provider.submissions) == 1
        check(provider, tmp_path, planned(target))


def test_killed_while_it_waits(tmp_path: Path, target: str) -> None:
    with listening(BatchingProvider(text=by_request, looks=10_000)) as provider:
        process = Collecting(target, provider, tmp_path)
        first = process.start()
        wait_until(lambda: any(b.looks < 9_998 for b in provider.batches.values()), first)
        process.kill(first)
        for batch in provider.batches.values():
            batch.looks = 0
        assert process.finish() == (40, 0)
        assert len(provider.submissions) == 1
        check(provider, tmp_path, planned(target))


def test_killed_in_the_middle_of_the_results(tmp_path: Path, target: str) -> None:
    with listening(BatchingProvider(text=by_request)) as provider:
        process = Collecting(target, provider, tmp_path)
        provider.stall = 17
        first = process.start()
        wait_until(lambda: provider.stalled and still_out(tmp_path) == 25, first)
        process.kill(first)
        provider.stall = None
        assert process.finish() == (25, 15)  # kept in fives
        assert len(provider.submissions) == 1
        check(provider, tmp_path, planned(target))


@pytest.mark.parametrize("target", TARGETS)
def test_killed_again_and_again(tmp_path: Path, target: str) -> None:
    """At every step in turn, with what came of it before still lying there."""
    with listening(BatchingProvider(text=by_request, looks=2)) as provider:
        process = Collecting(target, provider, tmp_path)
        provider.hold = "before"
        first = process.start()
        wait_until(lambda: provider.submitting == 1, first)
        process.kill(first)
        provider.hold = "after"
        second = process.start()
        wait_until(lambda: len(provider.batches) == 1, second)
        process.kill(second)
        provider.hold, provider.stall = None, 5
        third = process.start()
        wait_until(lambda: provider.stalled, third)
        process.kill(third)
        provider.stall = None
        answered, reused = process.finish()
        assert answered + reused == 40
        check(provider, tmp_path, planned(target))
