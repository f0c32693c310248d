"""`contextecho sessions keep`: a packed, verified copy, before the client deletes its file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contextecho.cli.finding import end_with, find_path, say_unread
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.cli.sessions.tables import size
from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.sessions import Kept, Session

_LONGEST_ID = 60  # characters that a line shows
_MOST_NAMED = 5  # sub-agents' files without a session


class _Folder(click.Path):
    """A folder. An empty name, as of a variable that is not set, would be the current one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if not str(value):
            self.fail("is empty: name a folder, or leave the option out", param, ctx)
        return super().convert(value, param, ctx)


@click.command("keep")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION|DIR...")
@click.option(
    "--to",
    "folder",
    type=_Folder(path_type=Path, file_okay=False),
    help="Where to keep them. Default: the user's data folder of this system.",
)
@json_option
def command(sessions: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Keep SESSIONs, packed by zstd, before their client deletes them.

    Byte for byte and read back after writing; with a session go the files of its
    sub-agents, and of a database the session's own rows are kept, and read as the session.
    What is kept already is not kept again, and never overwritten: a session that went on
    is kept beside what it was. Every command reads the packed file; `zstd -d` restores it.
    """
    from contextecho.sessions import default_folder

    place = folder or default_folder()
    kept: list[Kept] = []
    left = _Left()
    for done in _all_kept(sessions, place, left):
        kept.append(done)
        if not as_json:
            _print(done)
    if as_json:
        _print_document(kept, left)
    for reason in left.unread:
        say_unread(reason)
    _say_orphans(left.orphans)
    if kept:
        if not as_json:
            _print_total(kept, place)
        say_next("sessions", *(("show", kept[0].path) if len(kept) == 1 else ("list", place)))
    end_with(left.wrong)
    if not kept:
        raise SessionError("nothing to keep", where=", ".join(sessions), todo="name a session")


class _Left:
    """What was not kept."""

    def __init__(self) -> None:
        self.wrong: list[SessionError] = []  # of what the user named
        self.unread: list[SessionError] = []  # of what folders hold
        self.orphans: list[Path] = []  # files of sub-agents that no session here started


def _all_kept(sessions: Sequence[str], place: Path, left: _Left) -> Iterator[Kept]:
    """What is kept, one after the other; what is not is added to `left`."""
    from contextecho.sessions import files_of, sessions_to_keep

    sub_agents: list[Path] = []
    taken: set[Path] = set()  # by the sessions that were kept
    for name, is_named in _names(sessions, sub_agents, left.wrong):
        for found in sessions_to_keep(name):  # each on its own: one that fails stops no other
            done = _keep(found, place)
            if isinstance(done, SessionError):
                (left.wrong if is_named else left.unread).append(done)
                continue
            if not isinstance(found, SessionError):
                taken |= files_of(found)
            yield done
    for name in sub_agents:
        if Path(os.path.abspath(name)) in taken:  # noqa: PTH100 (as `files_of`)
            continue
        for found in sessions_to_keep(name):
            done = _keep(found, place)
            if isinstance(found, SessionError):
                left.orphans.append(name)  # which cannot be read without the session
            elif isinstance(done, SessionError):
                left.unread.append(done)
            else:
                yield done


def _keep(found: Session | SessionError, place: Path) -> Kept | SessionError:
    """Where a session is kept now, or why it is not."""
    from contextecho.sessions import keep_session

    if isinstance(found, SessionError):
        return found
    try:
        return keep_session(found, place)
    except SessionError as error:
        return error


def _names(
    sessions: Sequence[str], sub_agents: list[Path], wrong: list[SessionError]
) -> Iterator[tuple[Path, bool]]:
    """The files, and whether the user named each: of folders, the sessions not kept already.

    What names nothing goes to `wrong`; the files in folders that hold sub-agents' sessions alone
    are added to `sub_agents`.
    """
    from contextecho.sessions import is_packed, survey

    for text in sessions:
        try:
            path = find_path(text)
        except SessionError as error:
            wrong.append(error)
            continue
        if not path.is_dir():
            yield path, True
            continue
        surveyed = survey([path])
        for refused in surveyed.unread:
            say_unread(refused)
        found = dict.fromkeys(one.path for one in surveyed.sessions)
        yield from ((file, False) for file in found if not is_packed(file))
        sub_agents += (file for file in surveyed.sub_agent_files if not is_packed(file))


def _say_orphans(orphans: Sequence[Path]) -> None:
    """Name the files of sub-agents that went with no session: their client may delete them."""
    if not orphans:
        return
    names = ", ".join(one_line(str(path)) for path in orphans[:_MOST_NAMED])
    more = f" and {len(orphans) - _MOST_NAMED:,} more" if len(orphans) > _MOST_NAMED else ""
    what = counted(len(orphans), "file of a sub-agent", "files of sub-agents")
    say(f"not kept: {what} that no session here started: {names}{more}")


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


def _print_document(kept: Sequence[Kept], left: _Left) -> None:
    """All of it as JSON."""
    failed = (*left.wrong, *left.unread)
    document = {
        "kept": [_row(one) for one in kept],
        "unread": [{"path": error.where, "reason": error.what} for error in failed],
        "orphans": [str(path) for path in left.orphans],
    }
    print_json(document)


def _row(kept: Kept) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(kept.path),
        "already": kept.already,
        "manifest": msgspec.to_builtins(kept.manifest),
    }
