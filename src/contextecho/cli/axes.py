"""The options that `plan`, `probe` and `prereg` share: what to ask whom, where, and on which fork.

The one thing to know: an option that is not given leaves the choice to the
study and the protocol, so nothing here has a default of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from contextecho.cli.options import ARM, PLACEMENT, PROTOCOL, RENDERING, store_option

if TYPE_CHECKING:
    from contextecho.studies import Plan

F = TypeVar("F", bound=Callable[..., Any])


def _only_one(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str:
    """One judge a call; click would silently keep the last."""
    if len(given) > 1:
        raise click.UsageError("one --judge a call: give the same command again with the other")
    return given[0] if given else "none"


_WHOM = (
    click.argument("sessions", metavar="SESSION...", nargs=-1, required=True),
    click.option(
        "--target", "-t", "targets", multiple=True, required=True, metavar="PROVIDER/MODEL",
        help="Who is asked: openai/gpt-4.1, local, simulated, ... May be given several times.",
    ),
)  # fmt: skip
_JUDGE = (
    click.option("--judge", "-j", multiple=True, callback=_only_one, metavar="PROVIDER/MODEL",
                 help="Who scores the register. None unless named: measures without a judge."),
    click.option("--allow-self-judging", is_flag=True, help="Let a target judge itself; marked."),
    click.option("--study", default="trajectory", show_default=True,
                 help="`contextecho studies list`, or a TOML file."),
)  # fmt: skip
_WHAT = (
    click.option("--level", "levels", multiple=True, metavar="LEVEL",
                 help="Only this one of the study's levels; may be given several times."),
    click.option("--positions", metavar="POLICY",
                 help="compactions, crossings, even:N, onset, last, or turns: 100,1300,step:40."),
    click.option("--padding", type=int, help="Row turns before and after each compaction."),
    click.option("--arms", metavar="A,B,..",
                 help=f"Of {', '.join(ARM.choices)}, foreign."),
    click.option("--foreign", metavar="SESSION", help="What the foreign arm is shown."),
    click.option("--battery", "batteries", multiple=True, metavar="ID|FILE",
                 help="What is asked; may be given several times."),
    click.option("--n", "paraphrases", type=click.IntRange(1),
                 help="Wordings of each question; the bundled ones have 10."),
    click.option("--replicates", type=click.IntRange(1), help="Samples of each wording."),
    click.option("--protocol", type=PROTOCOL),
    click.option("--rendering", type=RENDERING),
    click.option("--context", "budget_tokens", type=int, metavar="TOKENS",
                 help="Length of the forks' prefixes."),
    click.option("--max-output", "max_output_tokens", type=int, metavar="TOKENS",
                 help="Longest answer; reasoning models need more than the protocol's."),
    click.option("--anchor", metavar="RECIPE", help="`contextecho anchors list`, or a YAML file."),
    click.option("--placement", type=PLACEMENT, help="Of the anchor."),
    click.option("--system", "system_file", type=click.Path(path_type=Path),
                 help="The deployer's own system prompt, for all arms."),
)  # fmt: skip
_HOW = (
    click.option("--batch", is_flag=True,
                 help="Ask through the providers' batch APIs: later, at half the price."),
    store_option,
)  # fmt: skip


_TO_LOCK = (
    click.argument("study"),
    *_WHOM,
    click.option("--judge", "-j", "judges", multiple=True, metavar="PROVIDER/MODEL",
                 help="Who will score the register. May be given several times."),
    *_WHAT,
)  # fmt: skip


def axes(function: F) -> F:
    """Add the shared options to a command."""
    return _with((*_WHOM, *_JUDGE, *_WHAT, *_HOW), function)


def axes_to_lock(function: F) -> F:
    """Add what a lock freezes: the study first, any number of judges, nothing of how to ask."""
    return _with(_TO_LOCK, function)


def _with(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def plans_from(choices: dict[str, Any]) -> tuple[Plan, ...]:
    """The plans that the shared options ask for: one a session and level of the study."""
    from contextecho.api import plans
    from contextecho.cli.finding import find_session, read_text

    arms = choices["arms"]
    system_file = choices["system_file"]
    foreign = choices["foreign"]
    return plans(
        [find_session(session) for session in choices["sessions"]],
        target=choices["targets"],
        study=choices["study"],
        levels=choices["levels"],
        foreign=find_session(foreign) if foreign else None,
        positions=choices["positions"],
        padding=choices["padding"],
        arms=[arm.strip() for arm in arms.split(",")] if arms else None,
        batteries=list(choices["batteries"]) or None,
        paraphrases=choices["paraphrases"],
        replicates=choices["replicates"],
        protocol=choices["protocol"],
        rendering=choices["rendering"],
        budget_tokens=choices["budget_tokens"],
        max_output_tokens=choices["max_output_tokens"],
        anchor=choices["anchor"],
        placement=choices["placement"],
        system=read_text(system_file, "--system") if system_file else None,
    )


def words_given(context: click.Context, *, without: Collection[str] = ("as_json",)) -> list[str]:
    """What the user gave of these options, as words for another command that has them."""
    words: list[str] = []
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source is not click.core.ParameterSource.COMMANDLINE or option.name in without:
            continue
        value = context.params[option.name or ""]
        for one in value if isinstance(value, tuple) else [value]:
            if isinstance(option, click.Option):
                words.append(option.opts[0])
            if not getattr(option, "is_flag", False):
                words.append(str(one))
    return words


def judge_from(choices: dict[str, Any]) -> str | None:
    """The judge, None for `none`."""
    judge: str = choices["judge"]
    return None if judge == "none" else judge
