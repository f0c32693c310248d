"""`contextecho probe`: fork a session, ask a model on each fork, score and report.

The one thing to know: the same command continues. Whatever ends it (an error, the
budget, a kill), what was collected stays, and is not asked again.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.axes import axes, judge_from, plan_from, words_given
from contextecho.cli.finding import find_analysis
from contextecho.cli.options import StorePlace, store_words
from contextecho.cli.plan import estimate_from, lines
from contextecho.cli.printing import print_json, say, say_next
from contextecho.counting import counted
from contextecho.defaults import ATTEMPTS, TIMEOUT
from contextecho.errors import BudgetError, IncompleteError, ProviderError, UsageError

if TYPE_CHECKING:
    from contextecho.api import Reach, Run
    from contextecho.engine import Estimate

ASK_ABOVE_DOLLARS = 1.0
_USED_UP = {"budget": "the budget is used up", "deadline": "the time is up"}


@click.command()
@axes
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
def command(context: click.Context, /, session: str, **choices: Any) -> None:
    """Fork SESSION (a path, or `latest`), ask the targets on each fork, score the answers."""
    from contextecho.api import place_of, prepare
    from contextecho.engine import Limits, open_progress, parse_deadline
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
    plan = plan_from(session, choices)
    on, store = choices["on"], choices["store"]
    place = None if on is None else place_of(on, plan, store, target_reach, batch=choices["batch"])
    terms = {
        "judge": judge_from(choices),
        "budget": choices["budget"],
        "reach": target_reach,
        "judge_reach": judge_reach,
        "allow_self_judging": choices["allow_self_judging"],
        "batch": choices["batch"],
        "wait": not choices["no_wait"],
    }
    with prepare(plan, **terms) as prepared:
        estimate = estimate_from(plan, choices)
        for line in () if choices["quiet"] else lines(plan, estimate):
            say(line)
        _confirm(estimate, yes=choices["yes"])
        run = prepared.collect(
            store,
            place=place,
            progress=open_progress(quiet=choices["quiet"]),
            limits=limits,
        )
    if run.collection.reason == "batches" and not run.collection.stopped_targets:
        _leave(run, context)
        return
    _show(run, choices["output"], as_json=choices["as_json"])
    _end(run, reported=choices["output"] is not None, judge_named=terms["judge"] is not None)


def _confirm(estimate: Estimate, *, yes: bool) -> None:
    """Ask before spending, on a terminal and above a dollar. Raises `click.exceptions.Exit`."""
    dollars = estimate.dollars
    worst = None if dollars is None else dollars.high
    cheap = worst is not None and worst <= ASK_ABOVE_DOLLARS
    nothing_to_ask = not any(target.requests for target in estimate.targets)
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


def _leave(run: Run, context: click.Context) -> None:
    """Say what was handed in, and that the same command goes on."""
    say(f"{_state(run)}; {counted(run.collection.batches, 'batch')} with the provider")
    if context.params["headers"]:  # they may hold a key
        say("Next: the same command")
    else:
        say_next("probe", *words_given(context))


def _show(run: Run, output: Path | None, *, as_json: bool) -> None:
    """The analysis on stdout, the report in a file if one was named."""
    from contextecho.reports import brief, write_report

    analysis = find_analysis(run.info.id, run.store, judge=run.judge)
    if as_json:
        print_json(analysis)
    else:
        click.echo(brief(analysis))
    if output is not None:
        write_report(analysis, output)
        say(f"wrote {output}")


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
