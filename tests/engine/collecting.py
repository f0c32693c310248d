"""Collections in processes of their own (`commandline.start_copy`), which tests kill."""

from __future__ import annotations

from collections.abc import Sequence

from contextecho.engine import (
    BatchPace,
    Collection,
    Limits,
    collect,
    collect_in_batches,
    run_in_loop,
)
from contextecho.models import open_batches, open_model
from contextecho.store import open_store
from store.plans import make_plan


def live(words: Sequence[str]) -> None:
    """Ask for 400 cells, call by call."""
    url, path = words
    plan = make_plan(positions=4, probes=50)
    with open_store(path) as store:
        run = store.begin_run(plan, "s", {})
        model = open_model("openai/one", base_url=url)
        _tell(run_in_loop(collect(plan, store, run, {model.id: model}), [model]))


def in_a_batch(words: Sequence[str]) -> None:
    """Ask for 40 cells in one batch."""
    target, url, path = words
    plan = make_plan(targets=(target,), probes=10)
    with open_store(path) as store:
        run = store.begin_run(plan, "s", {})
        model = open_model(target, base_url=url)
        work = collect_in_batches(
            plan,
            store,
            run,
            {target: model},
            {target: open_batches(model)},
            limits=Limits(first_delay=0.01),
            pace=BatchPace(first=0.01, longest=0.02, grace=0.1, together=5),
        )
        _tell(run_in_loop(work, [model]))


def _tell(collection: Collection) -> None:
    print(collection.done, collection.reused)
