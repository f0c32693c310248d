"""`contextecho store`: what is in a store, whether it is sound, and getting it out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextecho.cli.options import StorePlace, json_option, store_option, store_words
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.counting import counted
from contextecho.errors import DataError, UsageError

if TYPE_CHECKING:
    from contextecho.store import Contents, Loose

_MOST_SHOWN = 20
_BROUGHT = {"run": "runs", "attempt": "attempts", "reply": "replies", "verdict": "verdicts"}


@click.group()
def command() -> None:
    """Look into a store, check it, shrink it, export it, or put several together."""


@command.command()
@store_option
@json_option
def info(store: Path | str, as_json: bool) -> None:
    """Say what is in a store: runs, cells, replies, use, size."""
    from contextecho.store import describe, open_store

    with open_store(store, create=False) as opened:
        contents = describe(opened)
    if as_json:
        print_json(contents)
    else:
        for line in _lines(contents):
            show(line)
    say_next("store", "check", *store_words(store))


def _lines(contents: Contents) -> Iterator[str]:
    size = f"{contents.bytes / 1e6:,.1f} MB"
    yield f"{contents.where}: a {contents.kind}, schema {contents.schema}, {size}"
    replies = ", ".join(f"{count:,} {outcome}" for outcome, count in contents.replies.items())
    yield f"replies: {replies or 'none'}; {contents.waiting:,} to be asked again"
    for run in contents.runs:
        settled = f"{run.settled:,} of {counted(run.cells, 'cell')} settled"
        yield f"run {run.run} ({run.study}, {run.created_at}): {settled}"
        for target, used in run.spend.items():
            calls = f"{counted(used.attempts, 'call')}, {used.failed:,} failed, {used.lost:,} lost"
            tokens = f"{used.input:,} tokens in ({used.cached:,} cached), {used.output:,} out"
            yield f"  {target}: {calls}; {tokens}"
    for release in contents.releases:
        cells = f"{counted(release.cells, 'cell')} by protocol {release.protocol}"
        yield f"release {release.id} (imported {release.imported_at}): {cells}"


@command.command()
@store_option
@json_option
def check(store: Path | str, as_json: bool) -> None:
    """Check files, hashes, references and ledger of a store.

    Changes nothing. Exit code 0 when it is sound, 2 when something is wrong.
    """
    from contextecho.store import check_store, open_store

    with open_store(store, create=False) as opened:
        checked = check_store(opened)
    if as_json:
        print_json(checked)
    else:
        looked = (
            f"{counted(checked.contexts, 'context')}, {counted(checked.requests, 'request')},"
            f" {counted(checked.runs, 'run')}, {counted(checked.releases, 'release')}"
        )
        show(f"looked at {looked}")
        if checked.unnamed:
            show(f"{counted(checked.unnamed, 'key')} of release 0.1.0 cannot be made again")
        for problem in checked.problems:
            show(f"-- {problem}")
    if checked.problems:
        raise DataError(
            f"{counted(len(checked.problems), 'problem')} found",
            where=str(store),
            todo="keep a copy; a PostgreSQL backup or `sqlite3 FILE .recover` may have the rest",
        )
    say("the store is sound")


@command.command()
@store_option
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
def vacuum(store: Path | str, dry_run: bool) -> None:
    """Remove contexts that nothing refers to; shrink the rest."""
    from contextecho.store import loose_contexts, open_store
    from contextecho.store import vacuum as vacuum_store

    with open_store(store, create=False) as opened:
        before = opened.database.size()
        _tell(loose_contexts(opened))
        if dry_run:
            return
        vacuum_store(opened)
        show(f"{before / 1e6:,.1f} MB before, {opened.database.size() / 1e6:,.1f} MB now")
    say_next("store", "check", *store_words(store))


def _tell(loose: tuple[Loose, ...]) -> None:
    size = sum(context.bytes for context in loose)
    show(f"{counted(len(loose), 'context')} that nothing refers to, {size / 1e3:,.1f} kB")
    for context in loose[:_MOST_SHOWN]:
        show(f"  {context.sha256}")
    if len(loose) > _MOST_SHOWN:
        show(f"  and {len(loose) - _MOST_SHOWN:,} more")


@command.command()
@click.argument("runs", nargs=-1, metavar="[RUN|latest]...")
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, metavar="FOLDER")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet", "tree"]), default="jsonl",
    show_default=True, help="Tables, or the tree of the published release.",
)  # fmt: skip
@click.option("--judge", metavar="MODEL", help="Whose scores the tree holds, if there are several.")
@store_option
def export(
    runs: tuple[str, ...], output: Path, form: str, judge: str | None, store: Path | str
) -> None:
    """Write RUNs as files: all of them unless named.

    jsonl and parquet make the tables cells (with their replies), verdicts and attempts; tree makes
    one JSON file for each reply of one run, as the first paper's data was released.
    """
    from contextecho.store import export_tables, export_tree, open_store

    with open_store(store, create=False) as opened:
        found = [opened.find_run(run) for run in runs] or list(opened.runs())
        if form != "tree":
            for file in export_tables(opened, found, output, form):
                show(str(file))
            return
        if len(found) != 1:
            raise UsageError("a tree holds one run", where="RUN", todo="name one, or `latest`")
        written = export_tree(opened, found[0], output, judge)
    show(f"{output / 'results'}: {counted(written, 'reply', 'replies')}")


@command.command()
@click.argument("sources", nargs=-1, required=True, type=StorePlace(), metavar="STORE...")
@store_option
def merge(sources: tuple[Path | str, ...], store: Path | str) -> None:
    """Bring other STOREs into the one of --store; nothing twice."""
    from contextecho.store import merge as merge_store
    from contextecho.store import open_store

    with open_store(store) as into:
        for place in sources:
            with open_store(place, create=False) as source:
                merged = merge_store(into, source)
            new = ", ".join(
                counted(getattr(merged, plural), noun, plural) for noun, plural in _BROUGHT.items()
            )
            show(f"{merged.source}: new are {new}")
            if merged.releases:
                show(f"  and {counted(merged.releases, 'release')} imported into it")
            for key in merged.conflicts:
                show(f"  answered in both: {key}; the earlier reply stands")
    say_next("store", "info", *store_words(store))
