"""A simulated study collected into PostgreSQL equals the one in SQLite, reply for reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from contextecho.contexts import Arm
from contextecho.engine import Limits, collect, run_in_loop
from contextecho.models import open_model
from contextecho.store import Verdict, open_store
from contextecho.studies import Plan
from servers.postgres import PostgresServer
from store.plans import make_plan

TARGETS = ("simulated/gap=0.6,seed=3", "simulated/gap=0.1,seed=4")


def collected(place: str | Path, plan: Plan) -> dict[str, Any]:
    """Everything that a store tells of a run after it was collected, but when."""
    models = {target: open_model(target, simulated=plan) for target in plan.targets}
    with open_store(place) as store:
        run = store.begin_run(plan, "s", {"contextecho": "x"})
        limits = Limits(concurrency=16, most_concurrency=16)
        done = run_in_loop(collect(plan, store, run, models, limits=limits), models.values())
        assert (done.done, done.missing) == (len(plan.cells), 0)
        for _, key in list(store.run_cells(run.id))[::7]:
            store.put_verdict(
                Verdict(reply_key=key, scorer="register/é", scorer_version="1", value=0.1)
            )
    with open_store(place, create=False) as store:  # as another process finds it
        return {
            "run": msgspec.structs.replace(store.find_run(), created_at=""),
            "plan": store.plan(run.id),
            "replies": [
                msgspec.structs.replace(stored, collected_at=None)
                for stored in store.replies(run.id)
            ],
            "spend": store.spend(run.id),
            "verdicts": list(store.verdicts(run.id)),
            "missing": list(store.missing(run.id)),
        }


def test_postgresql_runs_equal_the_sqlite_run(postgres: PostgresServer, tmp_path: Path):
    plan = make_plan(
        targets=TARGETS,
        positions=4,
        arms=(Arm.SCRATCH, Arm.CONTROL, Arm.SESSION),
        probes=12,
        replicates=2,
    )
    in_sqlite = collected(tmp_path, plan)
    in_postgres = collected(postgres.url(), plan)
    assert len(in_sqlite["replies"]) == 2 * 4 * 3 * 12 * 2
    assert all(stored.reply.text for stored in in_sqlite["replies"])
    assert in_postgres == in_sqlite
