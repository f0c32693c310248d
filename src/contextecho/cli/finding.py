"""From what a user types to what it names: a session, a run, the text of a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextecho.cli.printing import say
from contextecho.counting import counted
from contextecho.errors import SessionError, UsageError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.scoring import RunAnalysis, SeriesAnalysis
    from contextecho.sessions import FoundSession, Session

_ID = re.compile(r"[\w:-]+")  # what may be the beginning of a session's id
_LEAST_OF_ID = 6
_MOST_NAMED = 5
_MANY_BYTES = 500_000_000  # take a second or more


def find_session(text: str) -> Session:
    """Read the session that `text` names. Raises `SessionError` or `UsageError`."""
    from contextecho.sessions import read_session

    return read_session(find_path(text))


def find_path(text: str) -> Path:
    """The path that `text` names.

    For `latest` the session used last on this machine; for what is no path but the
    beginning of one session's id, that session. Raises `UsageError`; for what is
    neither, `SessionError`.
    """
    if text == "latest":
        return _latest(_newest())
    if not _ID.fullmatch(text) or Path(text).exists():
        return Path(text)
    if found := _by_id(text) if len(text) >= _LEAST_OF_ID else None:
        return found
    short = f" (an id needs {_LEAST_OF_ID} characters)" if len(text) < _LEAST_OF_ID else ""
    raise SessionError(
        f"no such path, and no session with such an id{short}",
        where=text,
        todo="see contextecho sessions list",
    )


def find_path_to_scan(text: str) -> Path:
    """As `find_path`, but `latest` is the newest session worth a screen, if there is one."""
    if text != "latest":
        return find_path(text)
    path = _latest(_newest(suiting="scan") or _newest())
    say(f"latest: {one_line(str(path))}")
    return path


def _newest(suiting: str | None = None) -> FoundSession | None:
    from contextecho.scoring import suitability_of
    from contextecho.sessions import newest_session

    return newest_session(
        fits=lambda summary: suiting is None or suiting in suitability_of(summary).suits
    )


def _latest(found: FoundSession | None) -> Path:
    if found is None:
        raise UsageError(
            "no session found where clients keep them", where="latest", todo="name a file"
        )
    return Path(found.name)


def _by_id(text: str) -> Path | None:
    """The session of this machine whose id is `text`, or else begins with it."""
    from contextecho.sessions import survey

    known = [
        session
        for session in survey(processes=None, on_reading=say_reading).sessions
        if session.summary.id is not None
    ]
    found = [session for session in known if session.summary.id == text] or [
        session for session in known if (session.summary.id or "").startswith(text)
    ]
    if len(found) > 1:
        names = ", ".join(session.name for session in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
        raise UsageError(
            f"is the beginning of the ids of {len(found):,} sessions",
            where=text,
            todo=f"name one of them: {names}{more}",
        )
    return Path(found[0].name) if found else None


def why_no_session(path: Path) -> SessionError | None:
    """The reason for which a file that the user named is no session, if it is none."""
    from contextecho.sessions import read_session

    try:
        read_session(path)
    except SessionError as error:
        return error
    return None


def end_with(wrong: Sequence[SessionError]) -> None:
    """Name what the user named and cannot be read, and end the command with its exit code.

    Does nothing if there is nothing to name.
    """
    for error in wrong[:-1]:
        say(f"contextecho: {one_line(str(error))}")
    if wrong:
        raise wrong[-1]


def say_sub_agents(count: int) -> None:
    """Say how many sessions were left out because they are sub-agents'."""
    if count:
        say(f"{counted(count, 'session')} of sub-agents left out: part of those that started them")


def say_copies(count: int) -> None:
    """Say how many files were left out because they are others of the list again."""
    if count:
        say(f"{counted(count, 'copy', 'copies')} left out: the originals are there")


def say_earlier(count: int) -> None:
    """Say how many kept files were left out because a later one holds all that they do."""
    if count:
        say(f"{counted(count, 'earlier state')} left out: kept of sessions that went on")


def say_continued(count: int) -> None:
    """Say how many files were left out because their sessions go on in others of the list."""
    if count:
        say(f"{counted(count, 'file')} read with others, in which their sessions go on")


def say_links(links: Sequence[str]) -> None:
    """Name the first links to folders, behind which nobody looked."""
    if links:
        links_said = f"{counted(len(links), 'link')} to folders not followed"
        say(one_line(f"{links_said}: {_first_of(links)} (name one to look there)"))


def others_said(count: int) -> str:
    """What a message adds of files whose names say that they hold no sessions."""
    return f"; {counted(count, 'file')} of other names not looked at: name one" if count else ""


def say_strangers(strangers: Sequence[SessionError]) -> None:
    """Name the first files that look like sessions' and are none, and say how many there are."""
    if strangers:
        names = _first_of([error.where for error in strangers])
        files = counted(len(strangers), "file")
        say(one_line(f"{files} that could be a session left out, in no known format: {names}"))


def _first_of(names: Sequence[str]) -> str:
    """The first of many names, and whether there are others."""
    return ", ".join(names[:_MOST_NAMED]) + " and others" * (len(names) > _MOST_NAMED)


def say_reading(files: int, size: int) -> None:
    """Say what takes long the first time."""
    if size >= _MANY_BYTES:
        say(f"reading {counted(files, 'file')} ({size / 1e6:,.0f} MB); the next time only changes")


def say_unread(error: SessionError) -> None:
    """Name a folder or file that was found and cannot be read."""
    say(one_line(str(error)))


def find_analysis(run: str, store: Path | str, *, judge: str | None = None) -> RunAnalysis:
    """The analysis of the run that `run` names: `latest`, or the beginning of its id."""
    from contextecho.scoring import analyse_run
    from contextecho.store import open_store

    with open_store(store, create=False) as opened:
        return analyse_run(opened, opened.find_run(run), judge=judge)


def find_series_analysis(
    run: str, store: Path | str, *, judge: str | None = None
) -> SeriesAnalysis:
    """The analysis of the series that a run belongs to: all levels and sessions of its study."""
    from contextecho.scoring import analyse_series, find_series
    from contextecho.store import open_store

    with open_store(store, create=False) as opened:
        runs = find_series(opened, opened.find_run(run))
        return analyse_series(opened, runs, judge=judge)


def read_text(file: Path, option: str) -> str:
    """The text of a file that an option names."""
    from contextecho.own_files import refuse_endless

    try:
        refuse_endless(file)
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "cannot be read as UTF-8 text", where=str(file), todo=f"give {option} a text file"
        ) from error
