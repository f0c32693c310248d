"""The contexts of a plan: at each position a snapshot, from it one context an arm.

The one thing to know: arms that come to the same messages are one context, and asked once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from contextecho.contexts import (
    CONTROL_TOLERANCE,
    Arm,
    Context,
    History,
    Idle,
    Position,
    Protocol,
    Snapshot,
    TokenCounter,
    Unit,
    apply_arm,
    choose_positions,
    context_tokens,
    find_positions,
    load_anchor,
    load_idle,
    system_prompt,
    take_snapshot,
)
from contextecho.sessions import Session
from contextecho.studies.conditions import condition_notes, under_conditions
from contextecho.studies.model import Study

_THIN = 0.5
"""Share of the room for messages below which a snapshot that was cut is worth a note."""

_HEAVY = 0.25
"""Share of the budget from which on a system prompt is worth a note."""


class Forks(msgspec.Struct, frozen=True, kw_only=True):
    """Every context of a plan, and where it belongs."""

    snapshots: tuple[Snapshot, ...]
    prefixes: Mapping[tuple[str, Arm], str]  # (position label, arm) -> Context.sha256
    contexts: Mapping[str, Context]
    tokens: Mapping[str, int]
    control_ratio: Mapping[str, float]
    counter: str
    notes: tuple[str, ...]


def take_forks(
    study: Study,
    session: Session,
    protocol: Protocol,
    counter: TokenCounter,
    *,
    padding: int | None,
    system: str | None,
    foreign: Session | None,
) -> Forks:
    """Take a snapshot at each position, and make each arm's context from it."""
    choice = choose_positions(session, study.positions, padding=padding)
    positions = under_conditions(session, choice.positions)
    take = partial(
        take_snapshot,
        protocol=protocol,
        counter=counter,
        budget=study.budget_tokens,
        rendering=study.rendering,
        system=system,
        history=study.history,
    )
    idle = load_idle(study.idle.kind, study.idle.turns) if study.idle else None
    apply = partial(
        apply_arm,
        protocol=protocol,
        counter=counter,
        anchor=load_anchor(study.anchor) if study.anchor else None,
        placement=study.anchor_placement,
        idle=idle,
    )
    snapshots: list[Snapshot] = []
    prefixes: dict[tuple[str, Arm], str] = {}
    contexts: dict[str, Context] = {}
    tokens: dict[str, int] = {}
    ratios: dict[str, float] = {}
    for position in positions:
        snapshot = take(session, position)
        snapshots.append(snapshot)
        other = _elsewhere(foreign, session, position) if foreign else None
        for arm in study.arms:
            context = apply(snapshot, arm, foreign=take(*other) if other else None)
            prefixes[position.label, arm] = context.sha256
            if context.sha256 not in contexts:
                contexts[context.sha256] = context
                tokens[context.sha256] = context_tokens(context, counter)
        if Arm.CONTROL in study.arms:
            shown = snapshot.tokens + _idle_tokens(idle, counter)
            ratios[position.label] = tokens[prefixes[position.label, Arm.CONTROL]] / shown
    limit = study.budget_tokens or protocol.budget
    return Forks(
        snapshots=tuple(snapshots),
        prefixes=prefixes,
        contexts=contexts,
        tokens=tokens,
        control_ratio=ratios,
        counter=counter.name,
        notes=(
            *choice.notes,
            *condition_notes(positions),
            *_system_notes(session, protocol, system),
            *_history_notes(study.history, session, snapshots),
            *_foreign_notes(study, foreign),
            *_notes(snapshots, ratios, limit, protocol.budget_unit, counter),
        ),
    )


def _elsewhere(foreign: Session, session: Session, position: Position) -> tuple[Session, Position]:
    """Another session, and the place in it that is as far from its end, as a share of it."""
    share = position.row_turn / session.row_turns
    turn = max(1, round(share * foreign.row_turns))
    return foreign, find_positions(foreign, str(turn))[0]


def _idle_tokens(idle: Idle | None, counter: TokenCounter) -> int:
    return context_tokens(Context(messages=idle.messages), counter) if idle else 0


def _history_notes(
    history: History, session: Session, snapshots: Sequence[Snapshot]
) -> Iterator[str]:
    compacted = [s.position.label for s in snapshots if s.position.segment]
    if history is History.SEGMENT:
        yield from _summary_notes(session, snapshots)
    elif compacted:
        left_out = {
            History.NO_SUMMARY: "the compaction summary is left out",
            History.WHOLE: "what a compaction had replaced is in view, as the model never had it",
        }
        yield f"{left_out[history]}, as the study asks, at {', '.join(compacted)}"


def _foreign_notes(study: Study, foreign: Session | None) -> Iterator[str]:
    if foreign is not None and Arm.FOREIGN in study.arms:
        yield (
            f"the foreign arm is shown session {foreign.id}, as far into it as the own one at each "
            "position"
        )


def _system_notes(session: Session, protocol: Protocol, given: str | None) -> Iterator[str]:
    if given is None and system_prompt(session, protocol) == session.system:
        yield "the system prompt of all arms is the session's own (--system FILE for another)"


def _summary_notes(session: Session, snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """Where a compaction's summary is not in view, and whether that is our doing."""
    trimmed = [s.position for s in snapshots if s.summary_kept is False]
    missing = [at.label for at in trimmed if not _has_summary(session, at.segment)]
    cut = [at.label for at in trimmed if at.label not in missing]
    if cut:
        yield f"the compaction summary is not wholly in view at {', '.join(cut)}"
    if missing:
        yield (
            f"the file does not hold the compaction summary that the model had at "
            f"{', '.join(missing)} (encrypted or not recorded)"
        )


def _has_summary(session: Session, segment: int) -> bool:
    """Whether the summary that a segment goes on from can be read."""
    compactions = session.full_compactions
    return not segment or segment > len(compactions) or compactions[segment - 1].summary is not None


def _repeated(snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """The positions whose context is that of an earlier one."""
    seen: set[str] = set()
    for snapshot in snapshots:
        sha256 = snapshot.context.sha256
        if sha256 in seen:
            yield snapshot.position.label
        seen.add(sha256)


def _notes(
    snapshots: Sequence[Snapshot],
    ratios: Mapping[str, float],
    limit: int,
    unit: Unit,
    counter: TokenCounter,
) -> Iterator[str]:
    """What a reader must know about the prefixes."""
    empty = [s.position.label for s in snapshots if not s.context.messages]
    if empty:
        yield f"nothing of the session is in view at {', '.join(empty)}: the arms equal scratch"
    if again := [label for label in _repeated(snapshots) if label not in empty]:
        yield (
            f"the model is shown at {', '.join(again)} what it is shown at an earlier position: "
            "these are not further evidence, and count once"
        )
    system = counter.count(snapshots[0].context.system or "")
    if unit is Unit.TOKENS and system >= _HEAVY * limit:
        yield (
            f"the system prompt takes {system:,} of the {limit:,} tokens that a prefix may have, "
            "in every arm: --context N leaves the session more room, --system FILE gives another"
        )
    for snapshot in snapshots:
        beside = _tokens_beside(snapshot, counter)
        room, shown = limit - beside, snapshot.tokens - beside
        if snapshot.dropped_turns and unit is Unit.TOKENS and shown < _THIN * room:
            yield (
                f"{snapshot.position.label} shows {shown:,} tokens of messages, with room for "
                f"{room:,}: messages are shown whole, and the next one back does not fit"
            )
        if unit is Unit.TOKENS and snapshot.tokens > limit:
            yield (
                f"{snapshot.position.label} holds {snapshot.tokens:,} tokens, more than the budget "
                f"of {limit:,}: no shorter prefix is possible there"
            )
    for label, ratio in ratios.items():
        if abs(ratio - 1) > CONTROL_TOLERANCE:
            yield (
                f"the control at {label} has {ratio:.3f} times the session's tokens, "
                f"counted by {snapshots[0].counter}"
            )


def _tokens_beside(snapshot: Snapshot, counter: TokenCounter) -> int:
    """Tokens of a prefix that are no messages: the system prompt and declared tools."""
    return context_tokens(msgspec.structs.replace(snapshot.context, messages=()), counter)
