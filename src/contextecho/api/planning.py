"""From sessions and a study to plans. Sends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from contextecho.contexts import (
    EstimateCounter,
    Protocol,
    Rendering,
    TokenCounter,
    Unit,
    load_protocol,
)
from contextecho.counting import counted
from contextecho.errors import ProviderError, UsageError
from contextecho.models import (
    asking_notes,
    check_target,
    context_limit,
    find_provider,
    open_local_counter,
    serving_of,
)
from contextecho.sessions import Session
from contextecho.studies import Plan, Study, load_study, make_plan, studies_of

QUESTION_TOKENS = 300  # set aside for one question; the longest bundled one has under 100


def plan(
    session: Session,
    *,
    target: str | Sequence[str],
    study: str = "trajectory",
    level: str | None = None,
    **choices: Any,
) -> Plan:
    """Say which cells `study` collects on `session` for the targets. Sends nothing.

    `study` is a catalog id or the path of a TOML file, `level` one of its levels, if it has
    any (`plans` makes all); `choices` replace what it says: positions, arms, batteries,
    paraphrases, replicates, protocol, rendering, budget_tokens, anchor, placement, system,
    padding, foreign, max_output_tokens (`studies.make_plan`). Raises `UsageError`,
    `SessionError` or `DataError`.
    """
    chosen = load_study(study)
    if level is not None:
        (chosen,) = studies_of(chosen, [level])
    return _plan(chosen, session, _targets(target), choices)


def plans(
    sessions: Sequence[Session],
    *,
    target: str | Sequence[str],
    study: str = "trajectory",
    levels: Sequence[str] | None = None,
    **choices: Any,
) -> tuple[Plan, ...]:
    """One plan for each session at each level of `study`, or at those named; else as `plan`.

    Raises `UsageError` also for fewer sessions than the study needs.
    """
    whole, targets = load_study(study), _targets(target)
    given = [_FIELDS.get(name, name) for name, value in choices.items() if value is not None]
    apart = {session.sha256: session for session in sessions}
    if len(apart) < whole.sessions:
        raise UsageError(
            f"study {whole.id} compares sessions: it needs {whole.sessions} or more, and "
            f"{counted(len(apart), 'session')} can be told apart",
            todo="name the files of several sessions",
        )
    return tuple(
        _plan(at, session, targets, choices)
        for at in studies_of(whole, levels, chosen=given)
        for session in apart.values()
    )


_FIELDS = {"placement": "anchor_placement"}  # choices that a study calls otherwise


def _targets(target: str | Sequence[str]) -> list[str]:
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        check_target(name)
    return targets


def _plan(study: Study, session: Session, targets: list[str], choices: dict[str, Any]) -> Plan:
    known = (make_plan.__kwdefaults__ or {}).keys()
    if unknown := sorted(choices.keys() - known):
        raise UsageError(
            f"a plan has no choice {', '.join(unknown)}",
            todo=f"known are {', '.join(sorted(known))}",
        )
    fitting = shown_to(targets, choices.get("protocol") or study.protocol)
    own = {"rendering": study.rendering, "budget_tokens": study.budget_tokens}
    choices = choices | {
        name: value
        for name, value in fitting.items()
        if choices.get(name) is None and own[name] is None
    }
    counter, estimated = _planning_counter(targets)
    made = make_plan(
        study,
        session,
        targets,
        counter=counter,
        serving={target: how for target in targets if (how := serving_of(target))},
        **choices,
    )
    asked = [note for name in made.targets for note in asking_notes(name)]
    notes = [*made.notes, *estimated, *asked, *too_long(made)]
    if fitting["budget_tokens"] and fitting["budget_tokens"] == made.study.budget_tokens:
        notes.append(
            f"a prefix holds up to {fitting['budget_tokens']:,} tokens, fewer than the protocol's "
            f"{made.protocol.budget:,}, so that a target's context has room for the reply"
        )
    return msgspec.structs.replace(made, notes=tuple(notes))


def shown_to(targets: Sequence[str], protocol: Protocol | str) -> dict[str, Any]:
    """The `rendering` and `budget_tokens` that fit all targets, None where the protocol's do.

    Tool traffic is text where a target's chat template has no tools; a prefix leaves
    room for question and reply where a target's context is short.
    """
    rules = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    rendering, budget = None, None
    if rules.rendering is Rendering.NATIVE and not all(find_provider(t).tools for t in targets):
        rendering = Rendering.NATIVE_TEXT
    limits = [limit for target in targets if (limit := context_limit(target))]
    if limits and rules.budget_unit is Unit.TOKENS:
        room = min(limits) - rules.decoding.max_output_tokens - QUESTION_TOKENS
        budget = room if room < rules.budget else None
    return {"rendering": rendering, "budget_tokens": budget}


def counter_for(targets: Sequence[str]) -> TokenCounter:
    """The tokenizer that fits: a local model's own where there is one, else the estimate."""
    for target in targets:
        if target.partition("/")[0] == "local":
            return open_local_counter(target)
    return EstimateCounter()


def _planning_counter(targets: Sequence[str]) -> tuple[TokenCounter, list[str]]:
    """`counter_for`; without the embedded model the estimate, and a note of what that means."""
    try:
        return counter_for(targets), []
    except ProviderError as missing:
        return EstimateCounter(), [
            f"tokens are estimated; by the model's own count forks may end elsewhere: {missing}"
        ]


def too_long(plan: Plan) -> Iterator[str]:
    """Targets whose context does not hold every prefix and the longest reply after it."""
    for target in plan.targets:
        limit = context_limit(target)
        room = None if limit is None else limit - plan.decoding.max_output_tokens
        longer = [n for n in plan.prefix_tokens.values() if room is not None and n > room]
        if longer:
            yield (
                f"{target} reads and writes at most {limit:,} tokens in a call, and {len(longer)} "
                f"of {len(plan.prefix_tokens)} prefixes leave no room for a reply of "
                f"{plan.decoding.max_output_tokens:,}: the longest has {max(longer):,}"
            )
