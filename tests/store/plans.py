"""Small plans for the tests of the store and the engine: every size, no session needed."""

from __future__ import annotations

from contextecho.contexts import (
    Arm,
    Context,
    ControlKind,
    Decoding,
    Message,
    Position,
    Protocol,
    Rendering,
    Snapshot,
    Unit,
)
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.studies import Cell, ContrastSpec, Plan, Study

DECODING = Decoding(max_output_tokens=50, temperature=1.0)
ARMS = (Arm.CONTROL, Arm.SESSION)


def make_plan(
    *,
    targets: tuple[str, ...] = ("openai/one",),
    positions: int = 2,
    probes: int = 3,
    replicates: int = 1,
    study: str = "trajectory",
    notes: tuple[str, ...] = (),
    prefix_chars: int = 400,
) -> Plan:
    """A plan of targets x positions x 2 arms x probes x replicates cells."""
    battery = _battery(probes)
    places = tuple(_position(order) for order in range(positions))
    contexts = {
        (place.label, arm): _context(f"{arm} at {place.label}: ", prefix_chars)
        for place in places
        for arm in ARMS
    }
    cells = tuple(
        Cell(
            study=study,
            target=target,
            session="s1",
            position=place.label,
            arm=arm,
            battery=battery.id,
            stimulus=stimulus.id,
            paraphrase=0,
            replicate=replicate,
            prefix=contexts[place.label, arm].sha256,
        )
        for target in targets
        for place in places
        for arm in ARMS
        for stimulus in battery.stimuli
        for replicate in range(replicates)
    )
    return Plan(
        study=_study(study, battery.id, replicates),
        protocol=_protocol(),
        session="s1",
        session_sha256="5" * 64,
        session_path="made-up.jsonl",
        targets=targets,
        positions=places,
        snapshots=tuple(_snapshot(p, contexts[p.label, Arm.SESSION]) for p in places),
        contexts={context.sha256: context for context in contexts.values()},
        prefix_tokens={context.sha256: context.chars // 4 for context in contexts.values()},
        token_counter="estimate",
        control_ratio={place.label: 1.0 for place in places},
        batteries={battery.id: battery},
        cells=cells,
        decoding=DECODING,
        notes=notes,
    )


def _battery(probes: int) -> Battery:
    return Battery(
        id="probes",
        version="1",
        licence="CC0-1.0",
        source="test",
        sha256="b" * 64,
        stimuli=tuple(
            Stimulus(
                id=f"C{number:02}",
                category="coding-self",
                kind=StimulusKind.PROBE,
                wordings=(f"Question number {number}?",),
            )
            for number in range(probes)
        ),
    )


def _context(opening: str, chars: int) -> Context:
    return Context(
        system="You are a helpful assistant.",
        messages=(
            Message(role="user", text=(opening + "word " * chars)[:chars]),
            Message(role="assistant", text="Understood."),
        ),
    )


def _position(order: int) -> Position:
    turn = 100 * (order + 1)
    return Position(
        label=f"P{order:02}",
        row_turn=turn,
        step=turn,
        prompt=order,
        line=turn,
        segment=0,
        order=order,
    )


def _snapshot(position: Position, context: Context) -> Snapshot:
    return Snapshot(
        session_id="s1",
        session_sha256="5" * 64,
        position=position,
        protocol="strict",
        rendering="native",
        context=context,
        chars=context.chars,
        tokens=context.chars // 4,
        counter="estimate",
        summary_kept=None,
        dropped_turns=0,
    )


def _study(study: str, battery: str, replicates: int) -> Study:
    return Study(
        id=study,
        version="1",
        question="Does the register move?",
        positions="even:2",
        arms=ARMS,
        batteries=(battery,),
        paraphrases=1,
        replicates=replicates,
        anchor=None,
        anchor_placement="user",
        protocol="strict",
        contrasts=(
            ContrastSpec(
                id="gap", minus_from=Arm.CONTROL, minus=Arm.SESSION, question="How far apart?"
            ),
        ),
        negative_controls=None,
    )


def _protocol() -> Protocol:
    return Protocol(
        id="strict",
        version="1",
        rendering=Rendering.NATIVE,
        budget=7500,
        budget_unit=Unit.TOKENS,
        control=ControlKind.PROSE,
        system="You are a helpful assistant.",
        acknowledgement="",
        decoding=DECODING,
        paraphrases=1,
        rubric="register",
    )
