"""`contextecho sessions keep`: a packed, verified copy, before the client deletes its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import end_with, find_path, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say_next, show
from contextecho.cli.sessions.tables import size
from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import Kept


@click.command("keep")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION|DIR...")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to keep them. Default: the user's data folder of this system.",
)
@json_option
def command(sessions: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Keep SESSIONs, packed by zstd, before their client deletes them.

    Byte for byte and read back after writing; with a session go the files of its
    sub-agents, and of a database the session's own rows are kept. What is kept already is
    not kept again, and never overwritten: a session that went on is kept beside what it
    was. Every command reads the packed file; `zstd -d` restores it.
    """
    from contextecho.sessions import default_folder, keep_session, sessions_to_keep

    kept: list[Kept] = []
    unread: list[SessionError] = []
    for name in _names(sessions):
        try:
            for session in sessions_to_keep(name):
                kept.append(keep_session(session, folder or default_folder()))
                if not as_json:
                    _print(kept[-1])
        except SessionError as error:
            unread.append(error)
    if not kept and len(unread) == 1:
        raise unread[0]
    if as_json:
        print_json({"kept": [_row(one) for one in kept], "unread": [str(e) for e in unread]})
    wrong = [reason for reason in unread if reason.where in sessions]  # named by the user
    for reason in unread:
        if reason not in wrong:
            say_unread(reason)
    if kept:
        say_next("sessions", "show", kept[-1].path)
    end_with(wrong)
    if not kept:
        raise SessionError("nothing to keep", where=", ".join(sessions), todo="name a session")


def _names(sessions: tuple[str, ...]) -> Iterator[Path]:
    """The files named, and in folders those that are sessions and not kept already."""
    from contextecho.sessions import discover, is_packed

    for text in sessions:
        path = find_path(text)
        if path.is_dir():
            found = dict.fromkeys(one.path for one in discover([path], on_unread=say_unread))
            yield from (file for file in found if not is_packed(file))
        else:
            yield path


def _print(kept: Kept) -> None:
    files = kept.manifest.files
    before, after = sum(f.bytes for f in files), sum(f.packed_bytes for f in files)
    said = "kept already" if kept.already else "kept"
    more = f" with {counted(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    show(f"{said}{more}, {size(before)} in {size(after)}: {one_line(str(kept.path))}")


def _row(kept: Kept) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(kept.path),
        "already": kept.already,
        "manifest": msgspec.to_builtins(kept.manifest),
    }
