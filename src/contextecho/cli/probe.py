"""`contextecho probe`: fork a session, ask a model on each fork, score and report.

The one thing to know: the same command continues. Whatever ends it (an error, the
budget, a kill), what was collected stays, and is not asked again.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.axes import axes, judge_from, plans_from, words_given
from contextecho.cli.finding import find_analysis, find_series_analysis
from contextecho.cli.options import StorePlace, store_words
from contextecho.cli.plan import estimate_from, lines_of
from contextecho.cli.printing import print_json, say, say_next
from contextecho.counting import counted
from contextecho.defaults import ATTEMPTS, TIMEOUT
from contextecho.errors import BudgetError, IncompleteError, ProviderError, UsageError

if TYPE_CHECKING:
    from contextecho.api import Prepared, Reach, Run
    from contextecho.engine import Estimate, Limits, Place

ASK_ABOVE_DOLLARS = 1.0
_USED_UP = {"budget": "the budget is used up", "deadline": "the time is up"}


@click.command()
@axes
@click.option(
    "--prereg",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Refuse what differs from this pre-registration (`prereg lock`); the run keeps its hash.",
)
@click.option("--on", metavar="ray[://HOST:PORT]", help="Ask from the nodes of a Ray cluster.")
@click.option("--budget", metavar="5usd|2Mtok", help="Hard limit of this invocation.")
@click.option("--deadline", metavar="2h|MOMENT", help="End by then, e.g. 2026-12-01T06:00.")
@click.option("--no-wait", is_flag=True, help="With --batch: hand in, and do not wait.")
@click.option("--base-url", help="Address of an OpenAI- or Anthropic-compatible server.")
@click.option("--key-env", metavar="NAME", help="Variable that holds the targets' key.")
@click.option("--header", "headers", multiple=True, metavar="NAME: VALUE", help="Extra header.")
@click.option(
    "--judge-base-url",
    help="The judge's server. Unless given: the targets' if of their provider, else its own.",
)
@click.option("--judge-key-env", metavar="NAME", help="Variable that holds the judge's key.")
@click.option(
    "--replay",
    type=StorePlace(),
    metavar="STORE",
    help="Take replies and verdicts from this store; ask nobody.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=TIMEOUT,
    show_default=True,
    help="Of a call, seconds.",
)
@click.option(
    "--attempts", type=click.IntRange(1), default=ATTEMPTS, show_default=True, help="A request."
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Also write the report here.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before spending.")
@click.option("--quiet", "-q", is_flag=True, help="No plan, no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the analysis as JSON.")
@click.pass_context
def command(context: click.Context, /, **choices: Any) -> None:
    """Fork SESSION (a path, or `latest`), ask the targets on each fork, score the answers.

    A study with levels, or on several sessions, is one run for each of them.
    """
    from contextecho.api import keep_to, place_of, prepare
    from contextecho.engine import Budget, Limits, Purse, parse_deadline
    from contextecho.reports import refuse_unwritable

    given = choices["deadline"]
    limits = Limits(
        attempts=choices["attempts"],
        deadline=None if given is None else time.monotonic() + parse_deadline(given),
    )
    target_reach, judge_reach = _reaches(choices)
    if choices["output"] is not None:
        refuse_unwritable(choices["output"])
    if choices["no_wait"] and not choices["batch"]:
        raise UsageError("nothing would be left to wait for", where="--no-wait", todo="add --batch")
    if choices["batch"] and choices["replay"] is not None:
        raise UsageError("a replay asks nobody", where="--batch", todo="leave --batch out")
    plans = plans_from(choices)
    if choices["prereg"] is not None:
        plans = keep_to(choices["prereg"], plans, judge_from(choices))
    on, store, budget = choices["on"], choices["store"], choices["budget"]
    place = None
    if on is not None:
        place = place_of(on, plans[0], store, target_reach, batch=choices["batch"])
    terms = {
        "judge": judge_from(choices),
        "budget": None if budget is None else Purse(Budget.parse(budget)),
        "reach": target_reach,
        "judge_reach": judge_reach,
        "allow_self_judging": choices["allow_self_judging"],
        "batch": choices["batch"],
        "wait": not choices["no_wait"],
    }
    with ExitStack() as opened:
        prepared = [opened.enter_context(prepare(plan, **terms)) for plan in plans]
        estimates = [estimate_from(plan, choices) for plan in plans]
        for line in () if choices["quiet"] else lines_of(plans, estimates):
            say(line)
        _confirm(estimates, yes=choices["yes"])
        runs = _collect(prepared, store, place, limits, quiet=choices["quiet"])
    if any(map(_handed_in, runs)) and all(_handed_in(run) or _whole(run) for run in runs):
        for run in filter(_handed_in, runs):
            say(f"{_state(run)}; {counted(run.collection.batches, 'batch')} with the provider")
        _go_on(context)
        return
    _show(runs, choices["output"], as_json=choices["as_json"])
    if left := len(plans) - len(runs):
        say(f"{counted(left, 'plan')} of {len(plans)} not begun")
    _end(runs[-1], reported=choices["output"] is not None, judge_named=terms["judge"] is not None)


def _collect(
    prepared: Sequence[Prepared],
    store: Path | str,
    place: Place | None,
    limits: Limits,
    *,
    quiet: bool,
) -> list[Run]:
    """One run after the other, up to the first that does not become whole."""
    from contextecho.engine import open_progress

    runs: list[Run] = []
    for ready in prepared:
        progress = open_progress(quiet=quiet)
        runs.append(ready.collect(store, place=place, progress=progress, limits=limits))
        if not _handed_in(runs[-1]) and not _whole(runs[-1]):
            break
    return runs


def _handed_in(run: Run) -> bool:
    """Whether all that is missing lies with the provider, in batches."""
    return run.collection.reason == "batches" and not run.collection.stopped_targets


def _whole(run: Run) -> bool:
    """Whether every cell of a run has its reply, and its verdict if a judge was asked."""
    judging = run.judging
    judged = judging is None or not (judging.stopped or judging.unjudged)
    return run.collection.reason is None and run.collection.complete and judged


def _confirm(estimates: Sequence[Estimate], *, yes: bool) -> None:
    """Ask before spending, on a terminal and above a dollar. Raises `click.exceptions.Exit`."""
    highest = [None if e.dollars is None else e.dollars.high for e in estimates]
    known = [high for high in highest if high is not None]
    worst = sum(known) if len(known) == len(highest) else None
    cheap = worst is not None and worst <= ASK_ABOVE_DOLLARS
    nothing_to_ask = not any(target.requests for e in estimates for target in e.targets)
    if yes or cheap or nothing_to_ask or not sys.stdin.isatty():
        return
    cost = "an unknown amount" if worst is None else f"up to ${worst:.2f}"
    if not click.confirm(f"This may cost {cost}. Go on?", err=True):
        say("nothing was sent")
        raise click.exceptions.Exit(0)


def _reaches(choices: dict[str, Any]) -> tuple[Reach, Reach | None]:
    from contextecho.api import Reach

    targets = Reach(
        base_url=choices["base_url"],
        key_env=choices["key_env"],
        headers=dict(map(_header, choices["headers"])),
        timeout=_seconds(choices["timeout"]),
        replay=choices["replay"],
    )
    if choices["judge_base_url"] is None and choices["judge_key_env"] is None:
        return targets, None
    judge = Reach(
        base_url=choices["judge_base_url"],
        key_env=choices["judge_key_env"],
        timeout=choices["timeout"],
    )
    return targets, judge


def _seconds(timeout: float) -> float:
    if math.isnan(timeout):  # it is in every range
        raise UsageError("nan is no number of seconds", where="--timeout")
    return timeout


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"not a header: {name!r}", where="--header", todo="write NAME: VALUE")
    return name.strip(), value.strip()


def _go_on(context: click.Context) -> None:
    """Say that the same command goes on."""
    if context.params["headers"]:  # they may hold a key
        say("Next: the same command")
    else:
        say_next("probe", *words_given(context))


def _show(runs: Sequence[Run], output: Path | None, *, as_json: bool) -> None:
    """The analysis on stdout, the report in a file if one was named."""
    from contextecho.reports import brief, brief_series, write_report, write_series

    first = runs[0].info.id, runs[0].store
    if len(runs) == 1:
        run = find_analysis(*first, judge=runs[0].judge)
        _print(run, brief(run), as_json=as_json)
        written = None if output is None else write_report(run, output)
    else:
        series = find_series_analysis(*first, judge=runs[0].judge)
        _print(series, brief_series(series), as_json=as_json)
        written = None if output is None else write_series(series, output)
    if written is not None:
        say(f"wrote {written}")


def _print(analysis: object, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(analysis)
    else:
        click.echo(said)


def _end(run: Run, *, reported: bool, judge_named: bool) -> None:
    """Name the next command; leave with the exit code that the run's state asks for."""
    collection, judging = run.collection, run.judging
    reason = collection.reason or (judging.reason if judging else None)
    again = f"run {run.info.id} is kept in {run.store}; the same command continues it"
    if reason in _USED_UP:
        unread = "; no judge was asked" if judge_named and judging is None else ""
        say_next("report", run.info.id, *store_words(run.store), "-o", "report.html")
        raise BudgetError(f"{_USED_UP[reason]}; {_state(run)}{unread}", todo=again)
    if collection.stopped_targets and not collection.done:
        raise ProviderError(f"{_why(run)}; {_state(run)}", todo=again)
    if not collection.complete:
        raise IncompleteError(f"{_why(run)}; {_state(run)}", todo=again)
    if judging and judging.stopped:
        raise ProviderError(f"the judge was given up: {judging.stopped}", todo=again)
    if judging and judging.unjudged:
        raise IncompleteError(f"{judging.unjudged} replies are not judged", todo=again)
    if judging and judging.invalid and not judging.judged:
        raise IncompleteError(
            f"no verdict of {judging.judge} could be read: {judging.invalid} of {judging.replies}",
            todo="name a judge that keeps to the form; `contextecho report` shows what came back",
        )
    following, output = ("figures", "figures") if reported else ("report", "report.html")
    say_next(following, run.info.id, *store_words(run.store), "-o", output)


def _why(run: Run) -> str:
    """Why cells lack a reply, by target; what single requests met is in the report."""
    stopped = run.collection.stopped_targets
    reasons = [f"{target} was given up: {why}" for target, why in stopped.items()]
    return "; ".join(reasons) or "not every cell has a reply"


def _state(run: Run) -> str:
    c = run.collection
    return f"{c.done + c.reused} of {c.total} requests answered, {c.failed} failed"
