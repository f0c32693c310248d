"""A writer in a process of its own (`commandline.start_copy`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from contextecho.models import Answer, Usage
from contextecho.store import open_store
from store.plans import make_plan


def write(words: Sequence[str]) -> None:
    """Collect a study of its own; half of the requests are those of the other writer too."""
    place, study = words
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
