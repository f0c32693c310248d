"""`contextecho demo`: the whole pipeline for real, on the bundled session and the embedded model.

The one thing to know: how much is asked depends on how fast this machine is, which
is measured first, so that the demo ends within minutes on a slow one too.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from contextecho.cli.options import store_option
from contextecho.cli.plan import lines
from contextecho.cli.printing import say, say_next
from contextecho.errors import ProviderError

if TYPE_CHECKING:
    from contextecho.sessions import Session
    from contextecho.studies import Plan

STUDY = "demo"
PREFIX_TOKENS = 700
REPLY_TOKENS = 40  # what the embedded model writes on average
LONGEST_REPLY = 384
SECONDS = 120.0  # to be spent asking; a machine that gets busy takes two or three times as long
SIZES = (
    ("compactions", 4),
    ("compactions", 3),
    ("compactions", 2),
    ("compactions", 1),
    ("even:3", 1),
)
PADDING = 20  # row turns around a compaction: the bundled session is short

CAN_AND_CANNOT = """
What this run shows: every step works on this machine, and how a small model's replies differ
by what stands before the question; the report has them side by side. What it cannot show:
anything about the models that people use. The embedded model has 135 million parameters, is
often wrong and sometimes incoherent, and with so few positions the intervals are wide. The
bundled session is scripted: its agent's voice was written to loosen."""


class Speed(msgspec.Struct, frozen=True):
    """Tokens a second that the model reads and writes on this machine, now."""

    reads: float
    writes: float

    def seconds(self, plan: Plan) -> float:
        """How long collecting `plan` takes, each prefix read once."""
        requests = len({plan.request(cell).key for cell in plan.cells})
        return sum(plan.prefix_tokens.values()) / self.reads + requests * REPLY_TOKENS / self.writes


@click.command()
@click.option("--target", default="local", show_default=True, help="Who is asked instead.")
@click.option("--judge", metavar="PROVIDER/MODEL", help="Let a model score the register too.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default="report.html",
    show_default=True,
    help="Where the report goes.",
)
@store_option
def command(target: str, judge: str | None, output: Path, store: Path | str) -> None:
    """Probe the bundled session with the embedded model and write report.html. Takes minutes."""
    from contextecho.api import collect, counter_for, report
    from contextecho.engine import estimate_plan, open_progress
    from contextecho.reports import brief
    from contextecho.sessions import example_session, read_session

    session = read_session(example_session())
    say(
        f"the bundled session: {session.row_turns} row turns, {session.steps} agent steps, "
        f"{session.prompts} prompts, {len(session.full_compactions)} compactions"
    )
    # Held to the end: a local server runs as long as somebody counts with it, and every size
    # that is tried would otherwise start and stop one.
    counter = counter_for([target])
    plan, seconds = _plan_that_fits(session, target)
    for line in lines(plan, estimate_plan(plan, judge=judge), seconds=seconds):
        say(line)
    run = collect(plan, judge=judge, store=store, progress=open_progress())
    del counter
    click.echo(brief(report(run, output)))
    say(CAN_AND_CANNOT)
    say(f"\nThe report: {output.resolve()}")
    say_next("sessions", "list")


def _plan_that_fits(session: Session, target: str) -> tuple[Plan, float]:
    """The largest size that this machine can collect in time, and the time it takes.

    The smallest size if none fits.
    """
    say(f"measuring how fast {target} answers here ...")
    speed = _measure(target)
    say(f"it reads {speed.reads:.0f} and writes {speed.writes:.0f} tokens a second")
    for size in SIZES:
        plan = _plan(session, target, *size)
        if speed.seconds(plan) <= SECONDS:
            break
    return plan, speed.seconds(plan)


def _plan(session: Session, target: str, positions: str, paraphrases: int) -> Plan:
    from contextecho.api import plan

    return plan(
        session,
        target=target,
        study=STUDY,
        positions=positions,
        padding=PADDING,
        paraphrases=paraphrases,
        budget_tokens=PREFIX_TOKENS,
        max_output_tokens=LONGEST_REPLY,
    )


def _measure(target: str) -> Speed:
    """Time one call that reads and one that writes, on the control's prose."""
    from contextecho.contexts import (
        Context,
        Decoding,
        Message,
        Request,
        load_control,
        load_protocol,
    )
    from contextecho.engine import run_in_loop
    from contextecho.models import Answer, Failed, Reply, Truncated, open_model
    from contextecho.stimuli import load_battery

    question = load_battery("coding-self").stimuli[0].wordings[0]
    prose = " ".join(load_control().paragraphs[:3])
    context = Context(
        system=load_protocol("strict").system, messages=(Message(role="user", text=prose),)
    )

    def request(tokens: int) -> Request:
        return Request(
            target=target,
            context=context,
            ask=(Message(role="user", text=question),),
            decoding=Decoding(max_output_tokens=tokens),
        )

    model = open_model(target)

    async def both() -> tuple[tuple[Reply, float], tuple[Reply, float]]:
        timed = []
        for tokens in (1, 48):
            began = time.perf_counter()
            reply = await model.answer(request(tokens))
            timed.append((reply, time.perf_counter() - began))
        return timed[0], timed[1]

    (first, reading), (second, writing) = run_in_loop(both(), [model])
    if not isinstance(first, Answer | Truncated) or not isinstance(second, Answer | Truncated):
        failed = first if isinstance(first, Failed) else second
        raise ProviderError(f"{target} does not answer: {getattr(failed, 'message', failed)}")
    read = first.usage.input if first.usage and first.usage.input else len(prose) / 4
    wrote = second.usage.output if second.usage and second.usage.output else 1
    return Speed(read / max(reading, 1e-3), wrote / max(writing, 1e-3))
