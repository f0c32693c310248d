"""Everything a reader needs to check or repeat a run, as name and value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from contextecho.contexts import History
from contextecho.counting import counted
from contextecho.models import answers_here, find_price
from contextecho.moments import utc_minute
from contextecho.reports.typeset import listing
from contextecho.reports.view import View
from contextecho.studies import Origin

UNKNOWN = "not recorded"


def facts(view: View) -> tuple[tuple[str, str], ...]:
    """(name, value) in reading order; what a run does not hold is said to be not recorded."""
    run, plan = view.analysis.run, view.plan
    return (
        ("run", run.id),
        ("collected", run.created_at),
        ("registration", view.analysis.registration.said),
        *_lock(view),
        ("session", run.session),
        ("session file", session_file(view) or UNKNOWN),
        ("session SHA-256", plan.session_sha256 or UNKNOWN),
        *_origin(plan.origin),
        ("targets", listing(run.targets)),
        *_study(view),
        *_protocol(view),
        ("tokens counted with", plan.token_counter or UNKNOWN),
        *((f"served with: {target}", how) for target, how in plan.serving.items() if how),
        *_billing(view),
        *_judge(view),
        *_prices(view),
        *_batteries(view),
        *((f"version: {name}", version) for name, version in sorted(run.versions.items())),
    )


def _lock(view: View) -> Iterator[tuple[str, str]]:
    """The hashes by which a reader finds the pre-registration."""
    registered = view.analysis.registration.registered
    if registered is not None:
        yield "lock SHA-256", registered.lock
        if registered.amendments:
            yield "amended", f"{counted(registered.amendments, 'time')}, from {registered.first}"


def _origin(origin: Origin | None) -> Iterator[tuple[str, str]]:
    """Who spoke in the session, for how long, and when: that need not be the target."""
    if origin is None:
        yield "session of", UNKNOWN
        return
    yield "session of", " ".join((origin.format, listing(origin.versions)))
    yield "its models", listing(origin.models) or UNKNOWN
    yield (
        "its length",
        f"{counted(origin.prompts, 'prompt')}, {counted(origin.steps, 'agent step')}",
    )
    if origin.began is None or origin.ended is None:
        yield "its time", UNKNOWN
    else:
        yield "its time", f"{_minute(origin.began)} to {_minute(origin.ended)}"


def _minute(seconds: float) -> str:
    return utc_minute(seconds) or UNKNOWN


def session_file(view: View) -> str:
    """The name of the session's file, without its folder, which may name a person."""
    return PurePath(view.analysis.run.session_path).name


def _billing(view: View) -> Iterator[tuple[str, str]]:
    """Who answered, and how well the arms' lengths match by the target's own account."""
    for account in view.analysis.billing:
        yield f"served as: {account.target}", listing(account.served) or UNKNOWN
        ratios = account.control_ratio.values()
        if ratios:
            yield (
                f"billed control ÷ session: {account.target}",
                f"{min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} positions",
            )


def _judge(view: View) -> Iterator[tuple[str, str]]:
    """Who judged, by which text."""
    judge = view.analysis.judge
    if judge is not None:
        yield "judge", judge.judge
        yield "judge served as", listing(judge.served) or UNKNOWN
        yield "rubric SHA-256", judge.rubric_sha256 or UNKNOWN


def _prices(view: View) -> Iterator[tuple[str, str]]:
    """How old the list prices are with which this version counts dollars."""
    judge = view.analysis.judge
    for asked in dict.fromkeys((*view.targets, *((judge.judge,) if judge else ()))):
        if not answers_here(asked):
            price = find_price(asked)
            yield f"list price: {asked}", f"of {price.as_of}" if price else "not known"


def _study(view: View) -> Iterator[tuple[str, str]]:
    study = view.plan.study
    if study is None:
        yield "study", f"{view.analysis.run.study} ({UNKNOWN} in detail)"
        return
    yield "study", f"{study.id} {study.version}"
    yield "positions", study.positions
    yield "arms", listing(tuple(study.arms))
    yield "wordings × replicates", f"{study.paraphrases} × {study.replicates}"
    if study.level:
        yield "level", f"{study.level.id} of {study.varies}"
    if study.anchor:
        yield "anchor", f"{study.anchor}, placed in the {study.anchor_placement} turn"
    if study.idle:
        yield "turns after it", f"{study.idle.turns} {study.idle.kind}"
    if study.history is not History.SEGMENT:
        yield "history", study.history
    if not study.framing:
        yield "framing", "left out"
    for contrast in study.contrasts:
        yield (
            f"contrast: {contrast.id}",
            f"{contrast.minus_from} − {contrast.minus}: {contrast.question}",
        )


def _protocol(view: View) -> Iterator[tuple[str, str]]:
    protocol = view.plan.protocol
    if protocol is None:
        yield "protocol", UNKNOWN
        return
    yield "protocol", f"{protocol.id} {protocol.version}"
    study = view.plan.study
    budget = (study and study.budget_tokens) or protocol.budget
    yield "rendering", (study and study.rendering) or protocol.rendering
    yield "prefix budget", f"{budget:,} {protocol.budget_unit}"
    yield "control text", protocol.control
    yield "system prompt", protocol.system or "none"
    yield "rubric", protocol.rubric
    yield "invalid verdicts", "never scored"
    decoding = view.plan.decoding or protocol.decoding
    yield "output budget", f"{decoding.max_output_tokens:,} tokens"
    for name in ("temperature", "top_p", "seed"):
        value = getattr(decoding, name)
        yield name.replace("_", " "), "the provider's default" if value is None else f"{value:g}"


def _batteries(view: View) -> Iterator[tuple[str, str]]:
    for battery in view.plan.batteries.values():
        yield (
            f"battery: {battery.id}",
            f"{battery.version}, {battery.licence}, SHA-256 {battery.sha256}",
        )
