"""A study applied to a session and targets: every cell, ordered by the prefix it shares.

The one thing to know: a plan is made before anything is sent, and says in its
notes whatever the session, the protocol or the battery could not give as asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from contextecho.contexts import (
    CONTROL_TOLERANCE,
    Arm,
    Context,
    Decoding,
    EstimateCounter,
    Placement,
    Protocol,
    Rendering,
    Snapshot,
    TokenCounter,
    Unit,
    apply_arm,
    choose_positions,
    context_tokens,
    load_anchor,
    load_protocol,
    parse_arm,
    parse_rendering,
    take_snapshot,
)
from contextecho.errors import UsageError
from contextecho.sessions import Session
from contextecho.stimuli import Battery, load_battery
from contextecho.studies.model import Cell, Plan, Study
from contextecho.untrusted import make_visible

_THIN = 0.5
"""Share of the budget below which a snapshot that was cut is worth a note."""


def make_plan(
    study: Study,
    session: Session,
    targets: Sequence[str],
    *,
    counter: TokenCounter | None = None,
    positions: str | None = None,
    padding: int | None = None,
    arms: Sequence[Arm | str] | None = None,
    batteries: Sequence[str] | None = None,
    paraphrases: int | None = None,
    replicates: int | None = None,
    protocol: Protocol | str | None = None,
    rendering: Rendering | str | None = None,
    budget_tokens: int | None = None,
    anchor: str | None = None,
    placement: str | None = None,
    system: str | None = None,
    max_output_tokens: int | None = None,
    serving: Mapping[str, str] | None = None,
) -> Plan:
    """List every cell of `study` on `session` for `targets` (canonical ids).

    What is given replaces the study's or the protocol's own choice. Tokens are
    counted by `counter`, the offline estimate unless given; `serving` says how a target
    is served beyond its name (`models.serving_of`). Raises UsageError
    for a choice that does not exist or does not fit, SessionError for a session
    shorter than the first position, DataError for a battery file.
    """
    rules = (
        protocol if isinstance(protocol, Protocol) else load_protocol(protocol or study.protocol)
    )
    study, notes = _override(
        study,
        positions=positions,
        arms=None if arms is None else tuple(dict.fromkeys(parse_arm(arm) for arm in arms)),
        batteries=None if batteries is None else tuple(dict.fromkeys(batteries)),
        paraphrases=(
            min(study.paraphrases, rules.paraphrases) if paraphrases is None else paraphrases
        ),
        replicates=replicates,
        anchor=anchor,
        anchor_placement=placement,
        protocol=rules.id,
    )
    if not targets:
        raise UsageError("a plan needs a target", todo="name one with --target")
    forks = _fork(
        study,
        session,
        rules,
        counter or EstimateCounter(),
        padding=padding,
        rendering=None if rendering is None else parse_rendering(rendering),
        budget=_budget(rules, budget_tokens),
        system=system,
    )
    asked = _load_batteries(study)
    if paraphrases is not None:
        _refuse_more_than_there_are(paraphrases, asked)
    notes += (*forks.notes, *_wording_notes(study, asked))
    return Plan(
        study=study,
        protocol=rules,
        session=session.id,
        session_sha256=session.sha256,
        session_path=make_visible(str(session.path)),  # a name need not be UTF-8
        targets=tuple(dict.fromkeys(targets)),
        positions=tuple(snapshot.position for snapshot in forks.snapshots),
        snapshots=forks.snapshots,
        contexts=forks.contexts,
        prefix_tokens=forks.tokens,
        token_counter=forks.counter,
        control_ratio=forks.control_ratio,
        batteries=asked,
        cells=_cells(study, session.id, tuple(dict.fromkeys(targets)), forks.prefixes, asked),
        decoding=_decoding(rules, max_output_tokens),
        serving=serving or {},
        notes=notes,
    )


class _Forks(msgspec.Struct, frozen=True, kw_only=True):
    """Every context of a plan, and where it belongs."""

    snapshots: tuple[Snapshot, ...]
    prefixes: Mapping[tuple[str, Arm], str]  # (position label, arm) -> Context.sha256
    contexts: Mapping[str, Context]
    tokens: Mapping[str, int]
    control_ratio: Mapping[str, float]
    counter: str
    notes: tuple[str, ...]


def _fork(
    study: Study,
    session: Session,
    protocol: Protocol,
    counter: TokenCounter,
    *,
    padding: int | None,
    rendering: Rendering | None,
    budget: int | None,
    system: str | None,
) -> _Forks:
    """Take a snapshot at each position, and make each arm's context from it."""
    choice = choose_positions(session, study.positions, padding=padding)
    anchor = load_anchor(study.anchor) if study.anchor else None
    snapshots: list[Snapshot] = []
    prefixes: dict[tuple[str, Arm], str] = {}
    contexts: dict[str, Context] = {}
    tokens: dict[str, int] = {}
    ratios: dict[str, float] = {}
    for position in choice.positions:
        snapshot = take_snapshot(
            session,
            position,
            protocol,
            counter=counter,
            budget=budget,
            rendering=rendering,
            system=system,
        )
        snapshots.append(snapshot)
        for arm in study.arms:
            context = apply_arm(
                snapshot,
                arm,
                protocol,
                counter=counter,
                anchor=anchor,
                placement=_placement(study),
            )
            prefixes[position.label, arm] = context.sha256
            if context.sha256 not in contexts:
                contexts[context.sha256] = context
                tokens[context.sha256] = context_tokens(context, counter)
        if Arm.CONTROL in study.arms:
            ratios[position.label] = tokens[prefixes[position.label, Arm.CONTROL]] / snapshot.tokens
    return _Forks(
        snapshots=tuple(snapshots),
        prefixes=prefixes,
        contexts=contexts,
        tokens=tokens,
        control_ratio=ratios,
        counter=counter.name,
        notes=(
            *choice.notes,
            *_fork_notes(snapshots, ratios, budget or protocol.budget, protocol.budget_unit),
        ),
    )


def _cells(
    study: Study,
    session: str,
    targets: Sequence[str],
    prefixes: Mapping[tuple[str, Arm], str],
    batteries: Mapping[str, Battery],
) -> tuple[Cell, ...]:
    """Every cell, so that those of one target and one prefix stand together."""
    shared: dict[str, list[tuple[str, Arm]]] = {}
    for place, prefix in prefixes.items():
        shared.setdefault(prefix, []).append(place)
    return tuple(
        Cell(
            study=study.id,
            target=target,
            session=session,
            position=position,
            arm=arm,
            battery=battery,
            stimulus=stimulus,
            paraphrase=paraphrase,
            replicate=replicate,
            prefix=prefix,
        )
        for target, (prefix, places) in product(targets, shared.items())
        for position, arm in places
        for battery, stimulus, paraphrase in _questions(batteries, study.paraphrases)
        for replicate in range(study.replicates)
    )


def _questions(
    batteries: Mapping[str, Battery], paraphrases: int
) -> Iterator[tuple[str, str, int]]:
    """(battery, stimulus, wording) of everything that is asked on one prefix."""
    for battery in batteries.values():
        for stimulus in battery.stimuli:
            for wording in range(min(paraphrases, len(stimulus.wordings))):
                yield battery.id, stimulus.id, wording


def _load_batteries(study: Study) -> dict[str, Battery]:
    names = [*study.batteries, *((study.negative_controls,) if study.negative_controls else ())]
    loaded = [load_battery(name) for name in dict.fromkeys(names)]
    return {battery.id: battery for battery in loaded}


def _override(study: Study, **given: Any) -> tuple[Study, tuple[str, ...]]:
    """The study with what was given in place of its own, and without contrasts it cannot report."""
    changed = msgspec.structs.replace(
        study, **{key: value for key, value in given.items() if value is not None}
    )
    for key in ("paraphrases", "replicates"):
        if getattr(changed, key) < 1:
            raise UsageError(f"{getattr(changed, key)} {key} ask nothing", todo="use 1 or more")
    if not changed.arms:
        raise UsageError("a plan needs an arm", todo=f"use some of {', '.join(Arm)}")
    arms = set(changed.arms)
    contrasts = tuple(c for c in changed.contrasts if {c.minus_from, c.minus} <= arms)
    notes = tuple(
        f"contrast {c.id} is left out: it needs arms {c.minus_from} and {c.minus}"
        for c in changed.contrasts
        if c not in contrasts
    )
    return msgspec.structs.replace(changed, contrasts=contrasts), notes


def _budget(protocol: Protocol, tokens: int | None) -> int | None:
    if tokens is not None and protocol.budget_unit is not Unit.TOKENS:
        raise UsageError(
            f"protocol {protocol.id} counts {protocol.budget_unit}, always {protocol.budget}",
            todo="leave the budget out, or use protocol strict",
        )
    return tokens


def _decoding(protocol: Protocol, max_output_tokens: int | None) -> Decoding:
    if max_output_tokens is None:
        return protocol.decoding
    if max_output_tokens < 1:
        raise UsageError(f"{max_output_tokens} output tokens hold no answer", todo="use 1 or more")
    return msgspec.structs.replace(protocol.decoding, max_output_tokens=max_output_tokens)


def _fork_notes(
    snapshots: Sequence[Snapshot], ratios: Mapping[str, float], limit: int, unit: Unit
) -> Iterator[str]:
    """What a reader must know about the prefixes."""
    empty = [s.position.label for s in snapshots if not s.context.messages]
    if empty:
        yield f"nothing of the session is in view at {', '.join(empty)}: the arms equal scratch"
    trimmed = [s.position.label for s in snapshots if s.summary_kept is False]
    if trimmed:
        yield f"the compaction summary is not wholly in view at {', '.join(trimmed)}"
    for snapshot in snapshots:
        if snapshot.dropped_turns and unit is Unit.TOKENS and snapshot.tokens < _THIN * limit:
            yield (
                f"{snapshot.position.label} holds {snapshot.tokens} of {limit} tokens: the message "
                "before them is longer than the rest of the budget"
            )
        if unit is Unit.TOKENS and snapshot.tokens > limit:
            yield (
                f"{snapshot.position.label} holds {snapshot.tokens} tokens, more than the budget "
                f"of {limit}: no shorter prefix is possible there"
            )
    for label, ratio in ratios.items():
        if abs(ratio - 1) > CONTROL_TOLERANCE:
            yield (
                f"the control at {label} has {ratio:.3f} times the session's tokens, "
                f"counted by {snapshots[0].counter}"
            )


def _refuse_more_than_there_are(paraphrases: int, batteries: Mapping[str, Battery]) -> None:
    most = max(len(s.wordings) for battery in batteries.values() for s in battery.stimuli)
    if paraphrases > most:
        raise UsageError(
            f"{paraphrases} wordings were asked for, and only {most} exist", todo=f"use 1 to {most}"
        )


def _wording_notes(study: Study, batteries: Mapping[str, Battery]) -> Iterator[str]:
    for battery in batteries.values():
        fewest = min(len(stimulus.wordings) for stimulus in battery.stimuli)
        if fewest < study.paraphrases:
            yield f"battery {battery.id} has {fewest} wordings, fewer than {study.paraphrases}"


def _placement(study: Study) -> Placement:
    if study.anchor_placement not in ("user", "system"):
        raise UsageError(
            f'there is no anchor placement "{study.anchor_placement}"', todo="use user or system"
        )
    return "user" if study.anchor_placement == "user" else "system"
