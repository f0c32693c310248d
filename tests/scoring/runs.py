"""Runs for the tests of scoring: a real store, real batteries, replies written by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from contextecho.contexts import (
    Arm,
    Context,
    ControlKind,
    Decoding,
    Message,
    Position,
    Protocol,
    Rendering,
    Unit,
)
from contextecho.models import Answer, Reply
from contextecho.stimuli import load_battery
from contextecho.store import RunInfo, Store, Verdict
from contextecho.studies import Cell, ContrastSpec, Plan, Study

Answering = Callable[[Cell], Reply | None]

DECODING = Decoding(max_output_tokens=600, temperature=1.0)
GAP = ContrastSpec(id="gap", minus_from=Arm.CONTROL, minus=Arm.SESSION, question="Drift?")
RESTORATION = ContrastSpec(
    id="restoration", minus_from=Arm.SESSION_ANCHOR, minus=Arm.SESSION, question="Brought back?"
)


def make_plan(
    *,
    targets: Sequence[str] = ("openai/one",),
    positions: int = 3,
    arms: Sequence[Arm] = (Arm.CONTROL, Arm.SESSION),
    batteries: Sequence[str] = ("coding-self",),
    negative_controls: str | None = None,
    paraphrases: int = 2,
    replicates: int = 1,
    contrasts: Sequence[ContrastSpec] = (GAP,),
) -> Plan:
    """A plan over bundled batteries; every arm of every position has its own context."""
    places = tuple(_position(order) for order in range(positions))
    loaded = {name: load_battery(name) for name in (*batteries, *filter(None, [negative_controls]))}
    contexts = {
        (p.label, arm): Context(messages=(Message(role="user", text=f"{arm} at {p.label}"),))
        for p in places
        for arm in arms
    }
    cells = tuple(
        Cell(
            study="trajectory",
            target=target,
            session="s1",
            position=place.label,
            arm=arm,
            battery=battery.id,
            stimulus=stimulus.id,
            paraphrase=paraphrase,
            replicate=replicate,
            prefix=contexts[place.label, arm].sha256,
        )
        for target in targets
        for place in places
        for arm in arms
        for battery in loaded.values()
        for stimulus in battery.stimuli
        for paraphrase in range(paraphrases)
        for replicate in range(replicates)
    )
    return Plan(
        study=Study(
            id="trajectory",
            version="1",
            question="Does the register move?",
            positions=f"even:{positions}",
            arms=tuple(arms),
            batteries=tuple(batteries),
            paraphrases=paraphrases,
            replicates=replicates,
            anchor=None,
            anchor_placement="user",
            protocol="strict",
            contrasts=tuple(contrasts),
            negative_controls=negative_controls,
        ),
        protocol=PROTOCOL,
        session="s1",
        session_sha256="5" * 64,
        session_path="session.jsonl",
        targets=tuple(targets),
        positions=places,
        snapshots=(),
        contexts={context.sha256: context for context in contexts.values()},
        prefix_tokens={context.sha256: 10 for context in contexts.values()},
        token_counter="estimate",
        control_ratio={place.label: 1.0 for place in places},
        batteries=loaded,
        cells=cells,
        decoding=DECODING,
        notes=(),
    )


PROTOCOL = Protocol(
    id="strict",
    version="1",
    rendering=Rendering.NATIVE,
    budget=7_500,
    budget_unit=Unit.TOKENS,
    control=ControlKind.PROSE,
    system="You are a helpful assistant.",
    acknowledgement="",
    decoding=DECODING,
    paraphrases=2,
    rubric="register-1",
)


def _position(order: int) -> Position:
    turn = 100 * (order + 1)
    return Position(
        label=f"P{order:02}", row_turn=turn, step=turn, prompt=order, line=turn, segment=0,
        order=order,
    )  # fmt: skip


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
