"""`contextecho studies`: list and show what can be asked of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show
from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.studies import Study

_ROW = "{id:<18} {levels:>6} {sessions:>8}  {judges:<6}  {question}"
_HEADS = ("id", "levels", "sessions", "judges", "question")


@click.group()
def command() -> None:
    """List and show the studies: which question, on which forks, against what."""


@command.command("list")
@json_option
def list_studies(as_json: bool) -> None:
    """List the bundled studies."""
    from contextecho.studies import load_study, study_ids

    studies = [load_study(study_id) for study_id in study_ids()]
    if as_json:
        print_json(studies)
    else:
        for row in ({head: head for head in _HEADS}, *map(_summary, studies)):
            show(_ROW.format(**row))
    say_next("studies", "show", "trajectory")


@command.command("show")
@click.argument("study", metavar="STUDY")
@json_option
def show_study(study: str, as_json: bool) -> None:
    """Show one study.

    A bundled one by its id, or a TOML file by its path. What it would cost and could
    detect on a session says `contextecho plan SESSION --study STUDY`.
    """
    from contextecho.studies import load_study

    loaded = load_study(study)
    if as_json:
        print_json(loaded)
    else:
        _print(loaded)
    many = "SESSION..." if loaded.sessions > 1 else "SESSION"
    say_next("plan", many, "--target", "MODEL", "--study", study)


def _summary(study: Study) -> dict[str, Any]:
    return {
        "id": study.id,
        "levels": len(study.levels) or "-",
        "sessions": study.sessions,
        "judges": study.judges or "none",
        "question": study.question,
    }


def _print(study: Study) -> None:
    show(f"{study.id}, version {study.version}")
    show(study.question)
    facts = {
        "estimand": study.estimand or "not said",
        "arms": ", ".join(study.arms),
        "positions": study.positions,
        "batteries": ", ".join(study.batteries),
        "guarded by": study.negative_controls or "no negative controls",
        "wordings": f"{study.paraphrases}, {counted(study.replicates, 'sample')} each",
        "protocol": study.protocol,
        "sessions": f"{study.sessions} or more",
        "judges": str(study.judges) if study.judges else "none needed",
        "Holm over": study.family,
    }
    for name, value in facts.items():
        show(f"  {name:<11}{value}")
    for contrast in study.contrasts:
        show(f"  {'contrast':<11}{contrast.id}: {contrast.minus_from} - {contrast.minus}")
        show(f"  {'':<11}{contrast.question}")
    if study.levels:
        show(f"  {'levels':<11}{study.varies}")
        for level in study.levels:
            show(f"  {'':<11}{level.id}: {_choices(level.choices)}")


def _choices(choices: dict[str, Any]) -> str:
    """`anchor A`, `idle terse, 5 turns`: what a level sets."""
    return ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in choices.items())


def _value(value: Any) -> str:
    kind, turns = getattr(value, "kind", None), getattr(value, "turns", None)
    if kind is not None:
        return f"{kind}, {turns}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
