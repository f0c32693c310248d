"""From what a user types to what it names: a session, a run, the text of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contextecho.cli.printing import say
from contextecho.counting import counted
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.errors import SessionError
    from contextecho.scoring import RunAnalysis
    from contextecho.sessions import Session

_MANY_BYTES = 500_000_000  # take a second or more


def find_session(text: str) -> Session:
    """Read the session that `text` names. Raises `SessionError` or `UsageError`."""
    from contextecho.sessions import read_session

    return read_session(find_path(text))


def find_path(text: str) -> Path:
    """The path that `text` names; for `latest` the session written last on this machine."""
    from contextecho.errors import UsageError
    from contextecho.sessions import newest_session

    if text != "latest":
        return Path(text)
    found = newest_session()
    if found is None:
        raise UsageError(
            "no session found where clients keep them", where="latest", todo="name a file"
        )
    return Path(found.name)


def say_sub_agents(count: int) -> None:
    """Say how many sessions were left out because they are sub-agents'."""
    if count:
        say(f"{counted(count, 'session')} of sub-agents left out: part of those that started them")


def say_copies(count: int) -> None:
    """Say how many files were left out because they are others of the list again."""
    if count:
        copies = "copy" if count == 1 else "copies"
        say(f"{count} kept or converted {copies} left out: the originals are there")


def say_reading(files: int, size: int) -> None:
    """Say what takes long the first time."""
    if size >= _MANY_BYTES:
        say(f"reading {counted(files, 'file')} ({size / 1e6:,.0f} MB); the next time only changes")


def say_unread(error: SessionError) -> None:
    """Name a folder or file that was found and cannot be read."""
    say(one_line(str(error)))


def find_analysis(run: str, store: Path, *, judge: str | None = None) -> RunAnalysis:
    """The analysis of the run that `run` names: `latest`, or the beginning of its id."""
    from contextecho.scoring import analyse_run
    from contextecho.store import open_store

    with open_store(store, create=False) as opened:
        return analyse_run(opened, opened.find_run(run), judge=judge)


def read_text(file: Path, option: str) -> str:
    """The text of a file that an option names."""
    from contextecho.errors import UsageError
    from contextecho.own_files import refuse_endless

    try:
        refuse_endless(file)
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "cannot be read as UTF-8 text", where=str(file), todo=f"give {option} a text file"
        ) from error
