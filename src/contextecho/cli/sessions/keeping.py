"""`contextecho sessions keep`: a packed, verified copy, before the client deletes its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    from contextecho.sessions import Kept, Session

_LONGEST_ID = 60  # characters that a line shows


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
    from contextecho.sessions import default_folder, sessions_to_keep

    place = folder or default_folder()
    kept: list[Kept] = []
    unread: list[SessionError] = []  # of what the user named, and of what folders hold
    wrong: list[SessionError] = []
    for name, is_named in _names(sessions, wrong):
        for found in sessions_to_keep(name):  # each on its own: one that fails stops no other
            done = _keep(found, place)
            if isinstance(done, SessionError):
                (wrong if is_named else unread).append(done)
                continue
            kept.append(done)
            if not as_json:
                _print(done)
    if as_json and kept:
        failed = [str(error) for error in (*wrong, *unread)]
        print_json({"kept": [_row(one) for one in kept], "unread": failed})
    for reason in unread:
        say_unread(reason)
    if kept:
        if not as_json:
            _print_total(kept, place)
        say_next("sessions", *(("show", kept[0].path) if len(kept) == 1 else ("list", place)))
    end_with(wrong)
    if not kept:
        raise SessionError("nothing to keep", where=", ".join(sessions), todo="name a session")


def _keep(found: Session | SessionError, place: Path) -> Kept | SessionError:
    """Where a session is kept now, or why it is not."""
    from contextecho.sessions import keep_session

    if isinstance(found, SessionError):
        return found
    try:
        return keep_session(found, place)
    except SessionError as error:
        return error


def _names(sessions: Sequence[str], wrong: list[SessionError]) -> Iterator[tuple[Path, bool]]:
    """The files, and whether the user named each: of folders, the sessions not kept already.

    What names nothing goes to `wrong`.
    """
    from contextecho.sessions import discover, is_packed

    for text in sessions:
        try:
            path = find_path(text)
        except SessionError as error:
            wrong.append(error)
            continue
        if path.is_dir():
            found = dict.fromkeys(one.path for one in discover([path], on_unread=say_unread))
            yield from ((file, False) for file in found if not is_packed(file))
        else:
            yield path, True


def _print(kept: Kept) -> None:
    """One line: which session, how large it was and is."""
    manifest = kept.manifest
    said = "kept already" if kept.already else "kept"
    id = one_line(manifest.id)
    named = id if len(id) <= _LONGEST_ID else f"{id[:_LONGEST_ID]}..."
    files = len(manifest.files) - 1
    more = f" with {counted(files, 'more file')}" if files else ""
    show(f"{said}: {manifest.source_format} {named}{more}, {_sizes([kept])}")


def _print_total(kept: Sequence[Kept], folder: Path) -> None:
    already = sum(one.already for one in kept)
    said = f", {already} of them before" if already else ""
    total = counted(len(kept), "session")
    show(f"{total} in {one_line(str(folder))}{said}: {_sizes(kept)}")


def _sizes(kept: Sequence[Kept]) -> str:
    files = [file for one in kept for file in one.manifest.files]
    before, after = sum(f.bytes for f in files), sum(f.packed_bytes for f in files)
    return f"{size(before)} in {size(after)}"


def _row(kept: Kept) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(kept.path),
        "already": kept.already,
        "manifest": msgspec.to_builtins(kept.manifest),
    }
