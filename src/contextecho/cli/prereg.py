"""`contextecho prereg`: freeze a study before it is collected, amend it, check runs against it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.axes import axes_to_lock, plans_from, words_given
from contextecho.cli.options import json_option, store_option, store_words
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.errors import UsageError

if TYPE_CHECKING:
    from contextecho.scoring import Verification, Verified
    from contextecho.studies import Lock, Parts

_FILE = click.Path(path_type=Path)
_NOT_FOR_PROBE = ("study", "judges", "file", "why", "output")


@click.group()
def command() -> None:
    """Freeze a study before it is collected; tell which runs kept to it."""


@command.command("lock")
@axes_to_lock
@click.option("--output", "-o", type=_FILE, default="prereg.json", show_default=True)
@click.pass_context
def lock_study(context: click.Context, /, output: Path, **choices: Any) -> None:
    """Freeze STUDY: what will be asked of whom, and how it is read.

    Sends nothing. Every session that is to be probed is named here, and every judge.
    """
    from contextecho.studies import lock

    _write(lock(_parts(choices), _now()), output)
    _say_probe(context, output)


@command.command("amend")
@click.argument("file", type=_FILE)
@axes_to_lock
@click.option("--why", required=True, metavar="TEXT", help="What made the amendment necessary.")
@click.option(
    "--output", "-o", type=_FILE, required=True, help="A new file, in the folder of FILE."
)
@click.pass_context
def amend(context: click.Context, /, file: Path, why: str, output: Path, **choices: Any) -> None:
    """Freeze STUDY anew, as an amendment of the lock in FILE.

    It holds the hash of that lock. All is given again, also what stays. FILE is not changed.
    """
    from contextecho.studies import Amends, changed_parts, lock, read_chain

    if not why.strip():
        raise UsageError("an amendment needs a reason", where="--why")
    if output.resolve().parent != file.resolve().parent:
        raise UsageError(
            "an amendment stands beside what it amends",
            where=str(output),
            todo="name a file in the folder of the lock",
        )
    former, parts = read_chain(file)[-1], _parts(choices)
    changed = changed_parts(former, parts)
    if not changed:
        raise UsageError("nothing is amended: all parts are as locked", where=str(file))
    show(f"amended: {', '.join(changed)}")
    amends = Amends(file=file.name, sha256=former.sha256, why=why)
    _write(lock(parts, _now(), amends), output)
    _say_probe(context, output)


@command.command("verify")
@click.argument("file", type=_FILE)
@store_option
@json_option
def verify_runs(file: Path, store: Path | str, as_json: bool) -> None:
    """Tell which runs came before, after or outside the lock in FILE.

    Walks the chain of amendments first, and refuses one that is broken.
    """
    from contextecho.scoring import verify
    from contextecho.store import open_store
    from contextecho.studies import read_chain

    chain = read_chain(file)
    with open_store(store, create=False) as opened:
        found = verify(opened, chain)
    if as_json:
        print_json(found)
    else:
        _print(chain, found)
    begun = [run for run in found.runs if run.begun_under]
    if begun:
        say_next("report", begun[0].run, *store_words(store), "-o", "report.html")


def _parts(choices: dict[str, Any]) -> Parts:
    """What the options freeze."""
    from contextecho.api import versions
    from contextecho.scoring import parts_for

    return parts_for(plans_from(choices), choices["judges"], versions())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _write(lock: Lock, path: Path) -> None:
    """Write a new file; one that is there is never replaced."""
    from contextecho.studies import write_lock

    try:
        with path.open("xb") as file:
            file.write(write_lock(lock))
    except OSError as error:
        raise UsageError(
            f"cannot write the lock: {(error.strerror or 'unknown reason').lower()}",
            where=str(path),
            todo="name a new file with -o",
        ) from error
    show(f"locked at {lock.locked_at} in {path}")
    for name, sha256 in {**lock.part_sha256, "whole": lock.sha256}.items():
        show(f"  {name:<10} {sha256}")
    say("For a time that others can check, publish or commit the hash of the whole now")


def _say_probe(context: click.Context, path: Path) -> None:
    words = words_given(context, without=_NOT_FOR_PROBE)
    judge = [word for judge in context.params["judges"][:1] for word in ("--judge", judge)]
    say_next("probe", *words, *judge, "--study", context.params["study"], "--prereg", path)


def _print(chain: Sequence[Lock], found: Verification) -> None:
    for number, lock in enumerate(chain):
        what = f"amendment {number}" if number else "lock"
        why = f": {lock.amends.why}" if lock.amends else ""
        show(f"{what} {lock.sha256[:12]} of {lock.locked_at}{why}")
    for run in found.runs:
        _print_run(run)
    if not found.runs:
        show("no run in this store")
    for entry in found.uncollected:
        show(f"not collected  {entry}")


def _print_run(run: Verified) -> None:
    under = "begun under" if run.begun_under else "not begun under"
    show(f"run {run.run}  {run.timing}  {run.study} on {run.session}, {under} {run.lock[:12]}")
    if run.times.replies:
        show(f"  first asked {run.times.first}, last reply {run.times.last}")
    if run.times.earlier:
        show(f"  {run.times.earlier:,} of {run.times.replies:,} replies were asked before it")
    for difference in run.differences:
        show(f"  differs: {difference}")
