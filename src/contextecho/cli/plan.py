"""`contextecho plan`: what a probe would ask, cost and be able to detect. Sends nothing."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.axes import axes, judge_from, plans_from, words_given
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_command, say_next, show
from contextecho.cli.series import series_lines
from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.engine import Estimate, Range, TargetEstimate
    from contextecho.studies import Plan

REGISTER_SPAN = 3.0  # of the rubric: a gap cannot be wider
_HEAD = 13  # characters before what a line says
_SNAPSHOT_OPTIONS = {
    "rendering": "--rendering",
    "budget_tokens": "--context",
    "anchor": "--anchor",
    "placement": "--placement",
    "system_file": "--system",
}


@click.command()
@axes
@json_option
@click.pass_context
def command(context: click.Context, /, as_json: bool, **choices: Any) -> None:
    """Say what probing SESSION (a path, or `latest`) would ask, cost and be able to detect.

    A study with levels, or on several sessions, makes a plan for each.
    """
    from contextecho.api import refuse_self_judging, refuse_without_batches

    plans = plans_from(choices)
    plan, session = plans[0], choices["sessions"][0]
    if choices["batch"]:
        refuse_without_batches(plan.targets)
    refuse_self_judging(plan, judge_from(choices), allowed=choices["allow_self_judging"])
    estimates = [estimate_from(each, choices) for each in plans]
    if as_json:
        documents = list(map(_document, plans, estimates))
        print_json(documents if len(documents) > 1 else documents[0])
    else:
        for line in lines_of(plans, estimates):
            show(line)
    say_command("To read what is shown", "snapshot", session, *_snapshot_words(plan, choices))
    if choices["positions"] is None and _has_few_positions(plan):
        say_next("plan", *words_given(context), "--positions", "even:12")
    elif missing := _missing(choices):
        say(f"Next: {missing}")
    else:
        say_next("probe", *words_given(context))


def _has_few_positions(plan: Plan) -> bool:
    """Whether the session's compactions gave too few positions, and it has room for twelve."""
    from contextecho.contexts import FEWEST_POSITIONS

    few = len(plan.positions) < FEWEST_POSITIONS
    return few and plan.study.positions == "compactions" and plan.positions[-1].row_turn >= 12


def _missing(choices: dict[str, Any]) -> str | None:
    """What to do first where the embedded model is to answer and cannot, else None."""
    from contextecho.models import local_status

    asked = (*choices["targets"], choices["judge"])
    return local_status().todo if "local" in asked else None


def _snapshot_words(plan: Plan, choices: dict[str, Any]) -> Iterator[object]:
    """The options with which `snapshot` prints the last fork as it is planned."""
    yield from ("--at", plan.positions[-1].row_turn)
    for target in plan.targets:
        yield from ("--target", target)
    if plan.protocol.id != "strict":
        yield from ("--protocol", plan.protocol.id)
    for choice, option in _SNAPSHOT_OPTIONS.items():
        if choices[choice] is not None:
            yield from (option, choices[choice])


def estimate_from(plan: Plan, choices: dict[str, Any]) -> Estimate:
    """Estimate `plan`, less what the named store holds already."""
    from contextecho.engine import estimate_plan
    from contextecho.store import find_store

    judge = judge_from(choices)
    with find_store(choices["store"]) or nullcontext() as store:
        return estimate_plan(plan, judge=judge, store=store, batch=choices["batch"])


def lines_of(plans: Sequence[Plan], estimates: Sequence[Estimate]) -> Iterator[str]:
    """The plans for a human: a single one whole, of several the first and then a line each."""
    yield from lines(plans[0], estimates[0])
    if len(plans) > 1:
        yield from _wrapped(series_lines(plans, estimates))


def lines(plan: Plan, estimate: Estimate, *, seconds: float | None = None) -> Iterator[str]:
    """The plan for a human, before anything is spent; `seconds` if the time is known better."""
    yield from _wrapped(_lines(plan, estimate, seconds))


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """On a terminal that is narrower than a line, the line goes on below."""
    on_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    width = shutil.get_terminal_size().columns if on_terminal else sys.maxsize
    for line in lines:
        yield from textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * _HEAD,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _lines(plan: Plan, estimate: Estimate, seconds: float | None) -> Iterator[str]:
    level = f", level {plan.study.level.id}" if plan.study.level else ""
    yield f"{plan.study.id}{level} on {plan.session}, protocol {plan.protocol.id}"
    yield f"  arms       {', '.join(plan.study.arms)}"
    yield f"  asked      {_asked(plan)}"
    yield from _positions(plan)
    yield (
        f"  cells      {estimate.cells:,}, {counted(estimate.requests, 'distinct request')}"
        + (f", {estimate.stored:,} of them in the store" if estimate.stored else "")
    )
    for target in estimate.targets:
        yield from _target(target)
    yield f"  time       {_time(estimate, seconds)}"
    yield f"  detects    {_detects(plan, estimate)}"
    yield f"  tokens by  {estimate.token_counter}"
    yield from (f"  note       {note}" for note in plan.notes)


def _time(estimate: Estimate, seconds: float | None) -> str:
    took = _duration(estimate.seconds if seconds is None else seconds)
    batched = any(target.batched and target.requests for target in estimate.targets)
    return f"up to {took}, often far less: batches" if batched else f"about {took}"


def _asked(plan: Plan) -> str:
    """The batteries, each with the wordings that it has."""
    wordings = {
        battery.id: counted(
            min(plan.study.paraphrases, min(len(s.wordings) for s in battery.stimuli)), "wording"
        )
        for battery in plan.batteries.values()
    }
    if len(set(wordings.values())) == 1:
        return f"{', '.join(wordings)}, {next(iter(wordings.values()))} each"
    return ", ".join(f"{battery} ({count})" for battery, count in wordings.items())


def _positions(plan: Plan) -> Iterator[str]:
    yield "  forks at   label             row turn   step  prompt   tokens  control/session"
    for snapshot in plan.snapshots:
        at = snapshot.position
        ratio = plan.control_ratio.get(at.label)
        yield (
            f"             {at.label:<16} {at.row_turn:>9,} {at.step:>6,} {at.prompt:>7,}"
            f" {snapshot.tokens:>8,}  {'' if ratio is None else f'{ratio:.3f}':>15}"
        )


def _target(target: TargetEstimate) -> Iterator[str]:
    role = "judge     " if target.judges else "target    "
    yield (
        f"  {role} {target.target}: {counted(target.requests, 'request')}"
        f" on {counted(target.prefixes, 'prefix')}"
    )
    cached = f" ({target.cached_tokens:,} from the prefix cache)" * (not target.batched)
    yield f"             {target.input_tokens:,} tokens in{cached}"
    yield f"             {_tokens(target.output_tokens)} tokens out"
    yield f"             {_money(target)}"


def _tokens(span: Range) -> str:
    return f"{span.low:,.0f}-{span.high:,.0f} (about {span.expected:,.0f})"


def _money(target: TargetEstimate) -> str:
    if target.dollars is None or target.dollars_uncached is None:
        return "price unknown: budget it in tokens (--budget 2Mtok)"
    if not target.dollars.high:
        return "free"
    cost = (
        f"${target.dollars.low:.2f}-{target.dollars.high:.2f}, about ${target.dollars.expected:.2f}"
    )
    if target.batched:
        return f"{cost}, in batches (how much of it a cache serves is not known)"
    if target.dollars == target.dollars_uncached:
        counted_in_full = " (no cached price known: cached tokens are counted in full)"
        return cost + counted_in_full * bool(target.cached_tokens)
    return f"{cost} (without prefix caching about ${target.dollars_uncached.expected:.2f})"


def _detects(plan: Plan, estimate: Estimate) -> str:
    if not estimate.pairs_per_position:
        return "no register question in this plan; compliance and length need no judge"
    if not plan.study.contrasts:
        return "nothing: no contrast of the study has both its arms"
    positions = counted(estimate.positions, "position")
    if estimate.positions < len(plan.positions):
        positions = f"{estimate.positions} of {counted(len(plan.positions), 'position')}"
    alone = ", whose questions are the units" if estimate.positions == 1 else ""
    design = f"{positions} x {counted(estimate.pairs_per_position, 'pair')}{alone}"
    judged = any(target.judges for target in estimate.targets)
    if estimate.detectable_gap is None:
        return f"nothing that could be told from chance ({design})"
    if estimate.detectable_gap > REGISTER_SPAN:
        return f"nothing on the 0-3 scale, 4 times in 5 ({design})"
    gap = f"a register gap of {estimate.detectable_gap:.2f} or more on the 0-3 scale, 4 times in 5"
    return f"{gap} ({design})" if judged else f"with a judge, {gap} ({design})"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _document(plan: Plan, estimate: Estimate) -> dict[str, Any]:
    import msgspec

    return {
        "study": msgspec.to_builtins(plan.study),
        "session": plan.session,
        "session_sha256": plan.session_sha256,
        "protocol": plan.protocol.id,
        "targets": plan.targets,
        "positions": [
            {
                **msgspec.to_builtins(snapshot.position),
                "prefix_tokens": snapshot.tokens,
                "prefix_chars": snapshot.chars,
                "summary_kept": snapshot.summary_kept,
                "control_ratio": plan.control_ratio.get(snapshot.position.label),
            }
            for snapshot in plan.snapshots
        ],
        "estimate": {
            **msgspec.to_builtins(estimate),
            "dollars": estimate.dollars,
            "dollars_uncached": estimate.dollars_uncached,
            "seconds": estimate.seconds,
        },
        "notes": plan.notes,
    }
