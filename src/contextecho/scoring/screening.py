"""Screening many files, each by one process.

The one thing to know: a file that the user named is screened or refused; in a folder,
sub-agents' sessions and files of other kinds are passed over, but a file of JSON lines
that is no session is named, since it may be one that we should know.

What screens is loaded once, before the process is copied. A process that has threads cannot
be copied, so what would bring some is told not to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from contextecho.errors import PassingError, SessionError
from contextecho.processes import spread
from contextecho.sessions import (
    Candidate,
    Hashes,
    Session,
    Summary,
    begins_with,
    copies_among,
    earlier_among,
    load_languages,
    look_inside,
    originals_of,
    other_readers,
    read_session,
    repeats_among,
    summary_of,
    walk,
)

if TYPE_CHECKING:
    from contextecho.scoring.screen import Screen

_SLOWER = 8  # screening takes as long as indexing that many times the bytes


class Screened(msgspec.Struct):
    """The screens of one file or of many, and what could not be screened."""

    screens: list[Screen] = msgspec.field(default_factory=list)
    unread: list[SessionError] = msgspec.field(default_factory=list)
    passed_over: list[SessionError] = msgspec.field(default_factory=list)  # of other kinds
    refused: list[SessionError] = msgspec.field(default_factory=list)  # by the system, in a folder
    sub_agents: int = 0
    copies: int = 0  # files left out that are others again: kept, converted or copied
    earlier: int = 0  # kept states left out of sessions that went on, in a later state or a file
    continued: int = 0  # files left out: read with others, in which their sessions go on
    links: list[str] = msgspec.field(default_factory=list)  # to folders, which were not followed
    others: int = 0  # files left out: their names are none that sessions have
    places: tuple[str, ...] = ()  # files and folders, as they were named
    at: float = 0.0  # seconds since 1970, when it began


class _Seen(msgspec.Struct):
    """One session."""

    screen: Screen
    summary: Summary


class _Done(msgspec.Struct):
    """What one file came to, with the names of `Screened`."""

    seen: list[_Seen] = msgspec.field(default_factory=list)
    unread: list[SessionError] = msgspec.field(default_factory=list)
    passed_over: list[SessionError] = msgspec.field(default_factory=list)
    sub_agents: int = 0


def screen_all(paths: Sequence[Path], *, processes: int | None = None) -> Screened:
    """Every session in the files named and below the folders, in the order of the paths.

    Over processes, one a core unless said otherwise.
    """
    everything = Screened(places=tuple(map(str, paths)), at=time.time())
    met = _met(paths, everything)
    candidates = [file for file in met.values() if file is not None]
    copies, earlier = _again(candidates, named=everything.places)
    left_out = copies.keys() | earlier
    files = {
        path: 0 if file is None else file.mark.bytes
        for path, file in met.items()
        if file is None or file.path not in left_out
    }
    work = [(path, path in paths) for path in files]
    weights = [size * _SLOWER for size in files.values()]
    seen: dict[str, _Seen] = {}
    holding = set[str]()  # paths of files of sessions
    done = spread(_screen, work, weights, processes=processes, load=_load)
    for path, screened in zip(files, done, strict=True):
        # One of several in a file may be named, and the file too.
        for each in screened.seen:
            seen.setdefault(each.screen.path, each)
        everything.unread += screened.unread
        everything.passed_over += screened.passed_over
        everything.sub_agents += screened.sub_agents
        file = met[path]
        if file is not None and not screened.passed_over:
            holding.add(file.path)
    everything.screens = _screens(list(seen.values()))
    everything.copies = sum(original in holding for original in copies.values())
    everything.earlier = len(earlier)
    return everything


def _met(paths: Sequence[Path], everything: Screened) -> dict[Path, Candidate | None]:
    """The files in the order of the paths; without what was met, one of several sessions in one."""
    met: dict[Path, Candidate | None] = {}
    for path in paths:
        walked = walk([path])
        everything.continued += walked.continued
        everything.links += walked.links
        everything.others += walked.others
        found = {Path(file.path): file for file in walked.files}
        if path.is_dir():
            everything.refused += walked.unread
            met |= {file: each for file, each in found.items() if file not in paths}
        else:
            met[path] = found.get(path)
    return met


def _screens(seen: Sequence[_Seen]) -> list[Screen]:
    """The screens; those of sessions that repeat prompts of others say how many of which."""
    from contextecho.scoring.screen import Repeat

    screens = [each.screen for each in seen]
    for number, repeats in repeats_among([each.summary for each in seen]).items():
        screens[number] = replace(
            screens[number],
            inherited_prompts=sum(repeats.values()),
            repeats=tuple(
                Repeat(session=screens[other].path, prompts=prompts)
                for other, prompts in repeats.items()
            ),
        )
    return screens


def _again(
    files: Sequence[Candidate], named: Sequence[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """The files that are others again, with those; and what was kept of others before."""
    originals = {file.path: made for file in files if (made := originals_of(file.path))}
    hashes = Hashes()
    copies = copies_among(files, originals, hashes, named)
    return copies, earlier_among(files, originals, hashes, begins_with, named) - copies.keys()


def _load() -> None:
    """What screening any session takes."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's: nothing here is that large
    from contextecho.scoring import screen_session  # noqa: F401

    load_languages()
    other_readers()  # one that cannot be used is told of by this process alone


def _screen(file: tuple[Path, bool]) -> _Done:
    """The work of one process on one file."""
    path, named = file
    if named and not path.exists():  # or one of several sessions in a file: path#member
        return _screen_one(path)
    inside = look_inside(path, _screen_session, is_named=named)
    if inside.error is not None:
        is_failed = inside.format is not None or isinstance(inside.error, PassingError)
        is_news = named or is_failed or path.name.endswith(".jsonl")
        return _Done(unread=[inside.error]) if is_news else _Done(passed_over=[inside.error])
    return _Done(
        seen=[made for _, made in inside.sessions if not isinstance(made, SessionError)],
        unread=[made for _, made in inside.sessions if isinstance(made, SessionError)],
        sub_agents=inside.sub_agents,
    )


def _screen_one(path: Path) -> _Done:
    try:
        return _Done(seen=[_screen_session(read_session(path))])
    except SessionError as error:
        return _Done(unread=[error])


def _screen_session(session: Session) -> _Seen:
    from contextecho.scoring import screen_session

    return _Seen(replace(screen_session(session), path=session.name), summary_of(session))
