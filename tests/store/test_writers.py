"""Several processes write one store, and others read it meanwhile: every row is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from contextecho.store import open_store
from store.plans import make_plan

TESTS = Path(__file__).resolve().parents[1]

# Collects a study of its own; half of the requests are those of the other writer too.
WRITE = """
import sys
from contextecho.models import Answer, Usage
from contextecho.store import open_store
from store.plans import make_plan
place, study = sys.argv[1:]
plan = make_plan(study=study, positions=4, probes=10)
print("ready", flush=True)
sys.stdin.readline()
with open_store(place) as store:
    run = store.begin_run(plan, "s", {})
    with store.collecting(run.id):
        for cell in plan.cells:
            request = plan.request(cell)
            attempt = store.open_attempt(run.id, request)
            store.settle(attempt, Answer(text=study, usage=Usage(input=1)))
"""


def test_two_processes_collect_two_runs_into_a_new_store_while_a_third_reads(place: str):
    studies = ("one", "two")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, place, study],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for study in studies
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    seen = 0
    while any(writer.poll() is None for writer in writers):
        with open_store(place) as reader:
            now = sum(reader.spend(run.id).total.attempts for run in reader.runs())
            assert now >= seen
            seen = now
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    plans = [make_plan(study=study, positions=4, probes=10) for study in studies]
    assert len(plans[0].cells) == 80
    with open_store(place, create=False) as store:
        assert sorted(run.study for run in store.runs()) == ["one", "two"]
        for run in store.runs():
            assert store.spend(run.id).total.attempts == 80
            assert store.spend(run.id).total.lost == 0
            assert list(store.missing(run.id)) == []
            for stored in store.replies(run.id):
                assert stored.attempts == 2  # each writer asked; both calls are in the ledger
                assert stored.reply is not None
                assert stored.reply.text in studies
