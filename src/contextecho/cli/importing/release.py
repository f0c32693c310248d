"""`contextecho import release`: the released tree of the published reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextecho.cli.options import json_option, store_option, store_words
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.cli.sessions.tables import print_table
from contextecho.counting import counted

if TYPE_CHECKING:
    from contextecho.release import ReleaseSummary
    from contextecho.store import Finding, Release


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Read and tell, and keep nothing.")
@store_option
@json_option
def command(folder: Path, dry_run: bool, store: Path | str, as_json: bool) -> None:
    """Keep the cells of the released tree in DIR.

    DIR holds results/ or data_archive/, or is one of them. Nothing in it is changed. What is
    wrong in it is told, with how often and where first; a score that is wrong is kept as it was
    given and enters no mean. The same tree is kept once, however often it is imported.
    """
    from contextecho.release import import_release, read_release, summarise
    from contextecho.store import open_store

    tree = read_release(folder)
    summary = summarise(tree)
    if as_json:
        print_json(summary)
    else:
        _show(summary)
    if dry_run:
        say("nothing is kept")
        return
    with open_store(store) as opened:
        release, is_new = import_release(opened, tree)
    _say_kept(release, is_new)
    say_next("store", "info", *store_words(store))


def _show(summary: ReleaseSummary) -> None:
    files = counted(summary.files, "file")
    copies = f" ({summary.copies:,} of them twice)" if summary.copies else ""
    show(f"release {summary.id}: {files}{copies}, {counted(summary.cells, 'cell')}")
    for stated in summary.stated:
        show(f"{stated.cells:,} are stated by: {stated.where}")
    show()
    experiments = [
        (each.experiment, f"{each.cells:,}", f"{each.scores:,}", f"{each.void:,}")
        for each in summary.experiments
    ]
    print_table(("experiment", "cells", "scores", "void"), experiments, ("cells", "scores", "void"))
    show()
    if not summary.flags:
        show("nothing is flagged")
        return
    flags = [
        (each.flag.value, f"{each.files:,}", each.meaning, _example(each.examples[0]))
        for each in summary.flags
    ]
    print_table(("flag", "files", "what it is", "first"), flags, ("files",))


def _example(finding: Finding) -> str:
    return f"{finding.path}: {finding.detail}" if finding.detail else finding.path


def _say_kept(release: Release, is_new: bool) -> None:
    if is_new:
        say(f"kept as release {release.id}, apart from what was collected here")
    else:
        say(f"release {release.id} is there already, since {release.imported_at}: nothing is added")
