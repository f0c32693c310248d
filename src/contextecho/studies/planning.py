"""A study applied to a session and targets: every cell, ordered by the prefix it shares.

The one thing to know: a plan is made before anything is sent, and says in its
notes whatever the session, the protocol or the battery could not give as asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from contextecho.contexts import (
    Arm,
    Decoding,
    EstimateCounter,
    Protocol,
    Rendering,
    TokenCounter,
    Unit,
    load_protocol,
    parse_arm,
    parse_placement,
    parse_rendering,
    system_prompt,
)
from contextecho.counting import counted
from contextecho.errors import UsageError
from contextecho.sessions import Session, times_of
from contextecho.stimuli import Battery, load_battery
from contextecho.studies.cells import Cells, Place, Question
from contextecho.studies.forks import take_forks
from contextecho.studies.model import Origin, Plan, Study
from contextecho.untrusted import make_visible

MOST_CELLS = 5_000_000
"""A run holds its cells in the store, about 500 bytes each; more than these are a mistake."""


def make_plan(
    study: Study,
    session: Session,
    targets: Sequence[str],
    *,
    counter: TokenCounter | None = None,
    positions: str | None = None,
    padding: int | None = None,
    foreign: Session | None = None,
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
    is served beyond its name (`models.serving_of`); `foreign` is the session of the foreign
    arm. A study with levels is planned at one of them (`studies_of`). Raises UsageError
    for a choice that does not exist or does not fit, SessionError for a session
    shorter than the first position, DataError for a battery file.
    """
    _refuse_all_levels(study)
    rules = _rules(protocol or study.protocol)
    study, notes = _override(
        study,
        positions=positions,
        arms=None if arms is None else tuple(dict.fromkeys(parse_arm(arm) for arm in arms)),
        batteries=None if batteries is None else tuple(dict.fromkeys(batteries)),
        paraphrases=_wordings(paraphrases, study, rules),
        replicates=replicates,
        anchor=anchor,
        anchor_placement=None if placement is None else parse_placement(placement),
        protocol=rules.id,
        rendering=None if rendering is None else parse_rendering(rendering),
        budget_tokens=budget_tokens,
    )
    _refuse_tokens(rules, study.budget_tokens)
    if not targets:
        raise UsageError("a plan needs a target", todo="name one with --target")
    targets = tuple(dict.fromkeys(targets))
    forks = take_forks(
        study,
        session,
        rules,
        counter or EstimateCounter(),
        padding=padding,
        system=system,
        foreign=foreign,
    )
    asked = _load_batteries(study)
    if paraphrases is not None:
        _refuse_more_than_there_are(paraphrases, asked)
    notes += (*forks.notes, *_wording_notes(study, asked))
    return Plan(
        study=study,
        protocol=msgspec.structs.replace(rules, system=system_prompt(session, rules, system)),
        session=session.id,
        session_sha256=session.sha256,
        session_path=make_visible(session.name),  # a name need not be UTF-8
        origin=_origin(session),
        targets=targets,
        positions=tuple(snapshot.position for snapshot in forks.snapshots),
        snapshots=forks.snapshots,
        contexts=forks.contexts,
        prefix_tokens=forks.tokens,
        token_counter=forks.counter,
        control_ratio=forks.control_ratio,
        batteries=asked,
        cells=_cells(study, session.id, targets, forks.prefixes, asked),
        decoding=_decoding(rules, max_output_tokens),
        serving=serving or {},
        notes=notes,
    )


def _origin(session: Session) -> Origin:
    began, ended = times_of(session)
    return Origin(
        format=session.format,
        versions=session.versions,
        models=session.models,
        prompts=session.prompts,
        steps=session.steps,
        began=began,
        ended=ended,
    )


def _rules(protocol: Protocol | str) -> Protocol:
    return protocol if isinstance(protocol, Protocol) else load_protocol(protocol)


def _wordings(given: int | None, study: Study, protocol: Protocol) -> int:
    """How many wordings are asked: as given, else as many as study and protocol allow."""
    return min(study.paraphrases, protocol.paraphrases) if given is None else given


def _cells(
    study: Study,
    session: str,
    targets: Sequence[str],
    prefixes: Mapping[tuple[str, Arm], str],
    batteries: Mapping[str, Battery],
) -> Cells:
    """Every cell, so that those of one target and one prefix stand together."""
    shared: dict[str, list[Place]] = {}
    for (position, arm), prefix in prefixes.items():
        shared.setdefault(prefix, []).append(Place(position, arm, prefix))
    cells = Cells(
        study.id,
        session,
        targets=targets,
        places=[place for places in shared.values() for place in places],
        questions=list(_questions(batteries, study.paraphrases)),
        replicates=study.replicates,
    )
    if len(cells) > MOST_CELLS:
        raise UsageError(
            f"this makes {len(cells):,} cells, and a plan holds at most {MOST_CELLS:,}",
            todo="ask less: fewer replicates, wordings, positions or targets",
        )
    return cells


def _questions(batteries: Mapping[str, Battery], paraphrases: int) -> Iterator[Question]:
    """Everything that is asked on one prefix."""
    for battery in batteries.values():
        for stimulus in battery.stimuli:
            for wording in range(min(paraphrases, len(stimulus.wordings))):
                yield Question(battery.id, stimulus.id, wording)


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


def _refuse_all_levels(study: Study) -> None:
    if study.levels:
        raise UsageError(
            f"study {study.id} has {counted(len(study.levels), 'level')}, and a plan is of one",
            todo=f"use one of {', '.join(level.id for level in study.levels)}",
        )


def _refuse_tokens(protocol: Protocol, tokens: int | None) -> None:
    if tokens is not None and protocol.budget_unit is not Unit.TOKENS:
        raise UsageError(
            f"protocol {protocol.id} counts {protocol.budget_unit}, always {protocol.budget}",
            todo="leave the budget out, or use protocol strict",
        )


def _decoding(protocol: Protocol, max_output_tokens: int | None) -> Decoding:
    if max_output_tokens is None:
        return protocol.decoding
    if max_output_tokens < 1:
        raise UsageError(f"{max_output_tokens} output tokens hold no answer", todo="use 1 or more")
    return msgspec.structs.replace(protocol.decoding, max_output_tokens=max_output_tokens)


def _refuse_more_than_there_are(paraphrases: int, batteries: Mapping[str, Battery]) -> None:
    most = max(len(s.wordings) for battery in batteries.values() for s in battery.stimuli)
    if paraphrases > most:
        raise UsageError(
            f"{counted(paraphrases, 'wording')} asked for, and there are {most}",
            todo=f"use 1 to {most}",
        )


def _wording_notes(study: Study, batteries: Mapping[str, Battery]) -> Iterator[str]:
    for battery in batteries.values():
        fewest = min(len(stimulus.wordings) for stimulus in battery.stimuli)
        if fewest < study.paraphrases:
            has = counted(fewest, "wording")
            yield f"battery {battery.id} has {has}, fewer than {study.paraphrases}"
