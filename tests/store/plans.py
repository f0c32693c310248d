"""Small plans for the tests of every room: any size and batteries, no session needed."""

from __future__ import annotations

from collections.abc import Sequence

from contextecho.contexts import (
    Arm,
    Context,
    ControlKind,
    Decoding,
    Message,
    Placement,
    Position,
    Protocol,
    Rendering,
    Snapshot,
    Unit,
)
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.studies import ContrastSpec, Origin, Plan, Study
from contextecho.studies.cells import Cells, Place, Question

DECODING = Decoding(max_output_tokens=50, temperature=1.0)
ARMS = (Arm.CONTROL, Arm.SESSION)
GAP = ContrastSpec(id="gap", minus_from=Arm.CONTROL, minus=Arm.SESSION, question="Drift?")


def make_plan(
    *,
    targets: Sequence[str] = ("openai/one",),
    positions: int = 2,
    arms: Sequence[Arm] = ARMS,
    probes: int = 3,
    batteries: Sequence[Battery] = (),
    negative_controls: Battery | None = None,
    paraphrases: int = 1,
    replicates: int = 1,
    contrasts: Sequence[ContrastSpec] = (GAP,),
    study: str = "trajectory",
    notes: tuple[str, ...] = (),
    prefix_chars: int = 400,
    prefix_turns: int = 1,
) -> Plan:
    """A plan whose arms have a context of their own at every position.

    Without `batteries` it asks a made-up one of `probes` questions.
    """
    batteries = batteries or (_battery(probes),)
    asked = (*batteries, negative_controls) if negative_controls else batteries
    places = tuple(_position(order) for order in range(positions))
    contexts = {
        (place.label, arm): _context(f"{arm} at {place.label}: ", prefix_chars, prefix_turns)
        for place in places
        for arm in arms
    }
    cells = Cells(
        study,
        "s1",
        targets=targets,
        places=[
            Place(place.label, arm, contexts[place.label, arm].sha256)
            for place in places
            for arm in arms
        ],
        questions=[
            Question(battery.id, stimulus.id, paraphrase)
            for battery in asked
            for stimulus in battery.stimuli
            for paraphrase in range(paraphrases)
        ],
        replicates=replicates,
    )
    return Plan(
        study=Study(
            id=study,
            version="1",
            question="Does the register move?",
            positions=f"even:{positions}",
            arms=tuple(arms),
            batteries=tuple(battery.id for battery in batteries),
            paraphrases=paraphrases,
            replicates=replicates,
            anchor=None,
            anchor_placement=Placement.USER,
            protocol="strict",
            contrasts=tuple(contrasts),
            negative_controls=negative_controls.id if negative_controls else None,
        ),
        protocol=PROTOCOL,
        session="s1",
        session_sha256="5" * 64,
        session_path="made-up.jsonl",
        origin=Origin(
            format="claude-code",
            versions=("2.1.62",),
            models=("m",),
            prompts=3,
            steps=9,
            began=None,
            ended=None,
        ),
        serving={},
        targets=tuple(targets),
        positions=places,
        snapshots=tuple(
            _snapshot(p, contexts[p.label, Arm.SESSION]) for p in places if Arm.SESSION in arms
        ),
        contexts={context.sha256: context for context in contexts.values()},
        prefix_tokens={context.sha256: context.chars // 4 for context in contexts.values()},
        token_counter="estimate",
        control_ratio={place.label: 1.0 for place in places},
        batteries={battery.id: battery for battery in asked},
        cells=cells,
        decoding=DECODING,
        notes=notes,
    )


PROTOCOL = Protocol(
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
    rubric="register-1",
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


def _context(opening: str, chars: int, turns: int) -> Context:
    """`chars` characters of the user in so many messages, each with a short answer."""
    text = (opening + "word " * chars)[:chars]
    share = -(-chars // turns)
    said = (
        (Message(role="user", text=part), Message(role="assistant", text="Understood."))
        for part in (text[start : start + share] for start in range(0, chars, share))
    )
    return Context(
        system="You are a helpful assistant.",
        messages=tuple(message for pair in said for message in pair),
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
