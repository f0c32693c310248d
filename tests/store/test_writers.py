"""Several processes write one store, and others read it meanwhile: every row is there."""

from __future__ import annotations

import os

from commandline import start_copy
from contextecho.store import open_store
from store.plans import make_plan


def test_two_processes_collect_two_runs_into_a_new_store_while_a_third_reads(place: str):
    studies = ("one", "two")
    gate, opening = os.pipe()
    ours, its = os.pipe()
    writers = [
        start_copy("store.writing:write", place, study, files=(gate, its, 2)) for study in studies
    ]
    os.close(gate)
    os.close(its)
    with os.fdopen(ours) as said:
        assert [said.readline() for _ in writers] == ["ready\n", "ready\n"]
    os.close(opening)  # for both at once
    seen = 0
    while any(writer.poll() is None for writer in writers):
        with open_store(place) as reader:
            now = sum(reader.spend(run.id).total.attempts for run in reader.runs())
            assert now >= seen
            seen = now
    assert [writer.wait() for writer in writers] == [0, 0]
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
