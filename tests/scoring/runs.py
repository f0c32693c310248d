"""Runs for the tests of scoring: a real store, real batteries, replies written by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from contextecho.contexts import Arm, Context
from contextecho.models import Answer, Reply
from contextecho.stimuli import load_battery
from contextecho.store import RunInfo, Store, Verdict
from contextecho.studies import Cell, ContrastSpec, Plan
from store import plans
from store.plans import ARMS, GAP

Answering = Callable[[Cell], Reply | None]

RESTORATION = ContrastSpec(
    id="restoration", minus_from=Arm.SESSION_ANCHOR, minus=Arm.SESSION, question="Brought back?"
)


def make_plan(
    *,
    targets: Sequence[str] = ("openai/one",),
    positions: int = 3,
    arms: Sequence[Arm] = ARMS,
    batteries: Sequence[str] = ("coding-self",),
    negative_controls: str | None = None,
    paraphrases: int = 2,
    replicates: int = 1,
    contrasts: Sequence[ContrastSpec] = (GAP,),
) -> Plan:
    """A plan over bundled batteries, whose scratch arm has no context as in a real one."""
    plan = plans.make_plan(
        targets=targets,
        positions=positions,
        arms=arms,
        batteries=[load_battery(name) for name in batteries],
        negative_controls=load_battery(negative_controls) if negative_controls else None,
        paraphrases=paraphrases,
        replicates=replicates,
        contrasts=contrasts,
    )
    bare = Context(system=plan.protocol.system)
    cells = (
        msgspec.structs.replace(cell, prefix=bare.sha256) if cell.arm is Arm.SCRATCH else cell
        for cell in plan.cells
    )
    contexts = {**plan.contexts, bare.sha256: bare}
    return msgspec.structs.replace(plan, cells=tuple(cells), contexts=contexts)


def collect(store: Store, plan: Plan, answering: Answering) -> RunInfo:
    """Begin a run and write down what `answering` says for each cell (None: nothing came)."""
    run = store.begin_run(plan, "session.jsonl", {"contextecho": "test"})
    for cell in plan.cells:
        reply = answering(cell)
        if reply is not None:
            store.settle(store.open_attempt(run.id, plan.request(cell)), reply)
    return run


def say(text: str) -> Answer:
    """An answer."""
    return Answer(text=text, stop_reason="stop")


def verdicts(
    store: Store,
    run: RunInfo,
    level: Callable[[Cell], float | None],
    *,
    judge: str = "a/judge",
    version: str = "register-1/test",
    cells: Iterable[Cell] | None = None,
) -> None:
    """Write a verdict for every reply of `run`; `level` None makes it unreadable."""
    wanted = None if cells is None else set(cells)
    for cell, key in store.run_cells(run.id):
        if (wanted is None or cell in wanted) and store.reply(key) is not None:
            value = level(cell)
            store.put_verdict(
                Verdict(
                    reply_key=key,
                    scorer=f"register/{judge}",
                    scorer_version=version,
                    value=value,
                    invalid="no reason" if value is None else None,
                    detail={"reason": f"level {value}"},
                )
            )
