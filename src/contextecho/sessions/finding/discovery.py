"""What sessions are on this machine, and how long they will stay.

The one thing to know: Claude Code deletes transcripts after 30 days unless its
settings say otherwise, so a session worth measuring should be copied away.

What reads files is loaded when there is one to be read: most lists are of files that
were read before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.own_files import refuse_endless
from contextecho.sessions.finding.copies import copies_among
from contextecho.sessions.finding.earlier import earlier_among
from contextecho.sessions.finding.hashes import Hashes
from contextecho.sessions.finding.index import Entry, Index
from contextecho.sessions.finding.repeats import repeats_among
from contextecho.sessions.finding.roots import find_roots
from contextecho.sessions.finding.summary import Summaries, Summary
from contextecho.sessions.finding.walking import Candidate, walk
from contextecho.sessions.naming import name_of

DEFAULT_RETENTION_DAYS: Final = 30


class FoundSession(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session found in a folder, and what its summary says; it is not held in memory."""

    file: str
    bytes: int | None  # of its file or of all its files; None for one of several in a file
    modified: float  # when the file, or the newest of its files, was written: seconds since 1970
    summary: Summary
    repeated: int = 0  # prompts that earlier sessions of the same list hold

    @property
    def last_used(self) -> float:
        """When its last turn was, or the file was last written if its turns have no times.

        Never later than the file was written: what a clock that is wrong wrote is not
        the newest for years.
        """
        last = self.summary.last_time
        return self.modified if last is None else min(last, self.modified)

    @property
    def is_dated_by_turns(self) -> bool:
        """Whether `last_used` is of a turn, and not when the file was written."""
        last = self.summary.last_time
        return last is not None and last <= self.modified

    @property
    def inherited_prompts(self) -> int | None:
        """Of its prompts, those that count for another session: as the file says, or the list."""
        return self.repeated or self.summary.inherited_prompts

    @property
    def path(self) -> Path:
        """Of the file."""
        return Path(self.file)

    @property
    def format(self) -> str:
        """The reader's name."""
        return self.summary.format

    @property
    def name(self) -> str:
        """What `read_session` takes: the path, and `#member` for one of several."""
        return name_of(self.path, self.summary.member)


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found below some folders."""

    sessions: tuple[FoundSession, ...]  # the newest first; those that hold no conversation last
    sub_agents: int  # sessions of sub-agents, which belong to another
    copies: int  # files left out that are others again: kept, converted or copied
    earlier: int  # kept states left out of sessions that went on, in a later state or a file
    continued: int  # files in which sessions of others begin, read with those
    unread: tuple[SessionError, ...]  # folders and files that the system refuses
    sub_agent_files: tuple[Path, ...] = ()  # that hold sub-agents' sessions and no other
    strangers: tuple[SessionError, ...] = ()  # files that look like sessions' and are none
    links: tuple[str, ...] = ()  # to folders, which were not followed
    others: int = 0  # files left out: their names are none that sessions have
    tried: int = 0  # files looked into


def session_roots(
    env: Mapping[str, str] = os.environ, home: Path | None = None
) -> tuple[Path, ...]:
    """The folders of the clients that are on this machine, those that variables name first."""
    return tuple(root.folder for root in find_roots(env, home))


def survey(
    roots: Sequence[Path] | None = None,
    env: Mapping[str, str] = os.environ,
    *,
    processes: int | None = 1,
    on_reading: Callable[[int, int], None] = lambda files, size: None,
) -> Survey:
    """What is below `roots` (default: where clients keep sessions, and where we do).

    A file that has not changed since it was last looked at is not read again; the
    others are read, over `processes` (None: one a core), and `on_reading` is told how
    many they are, and their bytes. Empty files, of which clients leave many, and files
    that no reader knows are left out; those that look like sessions' are `strangers`.
    """
    index = Index()
    places = list(_holding(env) if roots is None else roots)
    walked = walk(places)
    files = [file for file in walked.files if file.mark.bytes]
    every = list(zip(files, _summaries(files, index, processes, on_reading), strict=True))
    copies, earlier = _again(every, index, named={*map(str, places)})
    left_out = copies | earlier
    kept = [(file, found) for file, found in every if file.path not in left_out]
    odd = [each for each in kept if each[1].sub_agents or each[1].refusal or each[1].stranger]
    return Survey(
        sessions=_newest_first(kept),
        sub_agents=sum(found.sub_agents for _, found in odd),
        copies=sum(found.holds_any for file, found in every if file.path in copies),
        earlier=len(earlier),
        continued=walked.continued,
        unread=(*walked.unread, *_errors((file, found.refusal) for file, found in odd)),
        sub_agent_files=tuple(
            Path(file.path) for file, found in odd if found.sub_agents and not found.sessions
        ),
        strangers=_errors((file, found.stranger) for file, found in odd),
        links=tuple(walked.links),
        others=walked.others,
        tried=len(files),
    )


def discover(
    roots: Sequence[Path] | None = None,
    env: Mapping[str, str] = os.environ,
    *,
    on_unread: Callable[[SessionError], None] = lambda _: None,
) -> list[FoundSession]:
    """The sessions of a `survey`; `on_unread` is told what cannot be read."""
    surveyed = survey(roots, env)
    for error in surveyed.unread:
        on_unread(error)
    return list(surveyed.sessions)


def newest_session(
    env: Mapping[str, str] = os.environ,
    *,
    fits: Callable[[Summary], bool] = lambda _: True,
) -> FoundSession | None:
    """The session of this machine that was used last, of those that fit.

    Files that were last written before it was used are not read.
    """
    files = [file for file in walk(_holding(env)).files if file.mark.bytes]
    index = Index()
    hashes = Hashes(index.hashed)
    newest: FoundSession | None = None
    for file in sorted(files, key=lambda file: -file.mark.written_ns):
        if newest is not None and file.mark.written_ns / 1e9 < newest.last_used:
            break
        (found,) = _summaries([file], index, 1, lambda files, size: None)
        if found.originals and copies_among(files, {file.path: found.originals}, hashes):
            continue
        for session in _newest_first([(file, found)]):
            if session.summary.error is not None or not fits(session.summary):
                continue
            if newest is None or session.last_used > newest.last_used:
                newest = session
    if hashes.new:
        index.keep({}, hashes.new, (file.path for file in files))
    return newest


def retention_warning(env: Mapping[str, str] = os.environ, home: Path | None = None) -> str | None:
    """A sentence about Claude Code's deletion of old sessions; `None` without that client."""
    roots = [root.folder for root in find_roots(env, home) if root.client == "Claude Code"]
    if not roots:
        return None
    days = next((days for root in roots if (days := _retention_days(root)) is not None), None)
    if days is None:
        return (
            f"Claude Code deletes sessions after {DEFAULT_RETENTION_DAYS} days; "
            "set cleanupPeriodDays in its settings.json, or keep them: contextecho sessions keep."
        )
    return (
        f"Claude Code deletes sessions after {days} days (cleanupPeriodDays): "
        "contextecho sessions keep keeps them."
    )


def _holding(env: Mapping[str, str]) -> list[Path]:
    """Where sessions are: the clients' places, and what was kept of them on this machine.

    A kept session is a copy as long as the client has it, and all there is after that.
    """
    from contextecho.sessions.packing.archive import default_folder

    kept = [default_folder()] if env is os.environ else []
    return [place for root in find_roots(env) for place in root.holds] + kept


def _summaries(
    files: Sequence[Candidate],
    index: Index,
    processes: int | None,
    on_reading: Callable[[int, int], None],
) -> list[Summaries]:
    """What is in each file, from the index or from the file itself."""
    kept = [index.get(file) for file in files]
    unknown = [n for n, found in enumerate(kept) if found is None]
    if unknown:
        from contextecho.processes import spread
        from contextecho.sessions.finding.summarising import summarise
        from contextecho.sessions.registry import other_readers

        sizes = [files[n].mark.bytes for n in unknown]
        on_reading(len(unknown), sum(sizes))
        paths = [Path(files[n].path) for n in unknown]
        made = spread(summarise, paths, sizes, processes=processes, load=other_readers)
        new = dict(zip(unknown, made, strict=True))
        index.keep(
            {files[n].path: Entry(files[n].mark, found) for n, found in new.items()},
            {},
            (file.path for file in files),
        )
    return [new[n] if found is None else found for n, found in enumerate(kept)]


def _again(
    every: Sequence[tuple[Candidate, Summaries]], index: Index, named: Collection[str]
) -> tuple[set[str], set[str]]:
    """The paths of files that are others again, and of what those once were.

    What was hashed for that is kept.
    """
    originals = {file.path: found.originals for file, found in every if found.originals}
    files = [file for file, _ in every]
    hashes = Hashes(index.hashed)
    copies = {*copies_among(files, originals, hashes, named), *_kept_rows(every)}
    ids = {file.path: found.ids for file, found in every} if originals else {}
    earlier = earlier_among(files, originals, hashes, ids.get, named) - copies
    if hashes.new:
        index.keep({}, hashes.new, (file.path for file in files))
    return copies, {*earlier}


def _kept_rows(every: Sequence[tuple[Candidate, Summaries]]) -> set[str]:
    """The paths of kept rows whose session is there, and is in all that is listed what it was."""
    kept = [(file.path, found.sessions) for file, found in every if found.are_rows]
    if not kept:
        return set()
    others = (session for _, found in every if not found.are_rows for session in found.sessions)
    there = {replace(session, member=None) for session in others}
    return {path for path, sessions in kept if there.issuperset(sessions)}


def _errors(said: Iterable[tuple[Candidate, str | None]]) -> tuple[SessionError, ...]:
    """Of the files with a reason, an error each."""
    return tuple(
        SessionError(reason, where=file.path) for file, reason in said if reason is not None
    )


def _newest_first(files: Iterable[tuple[Candidate, Summaries]]) -> tuple[FoundSession, ...]:
    """The sessions of the files, those used last first; what holds none is behind them all.

    Of those used at once the one written last comes first, then the one that was met first.
    """
    whole: list[FoundSession] = []
    broken: list[FoundSession] = []
    for file, found in files:
        for summary in found.sessions:
            (whole if summary.error is None else broken).append(_found(file, summary))
    for number, repeats in repeats_among([each.summary for each in whole]).items():
        whole[number] = replace(whole[number], repeated=sum(repeats.values()))
    for sessions in (whole, broken):
        sessions.sort(key=attrgetter("last_used", "modified"), reverse=True)
    return (*whole, *broken)


def _found(file: Candidate, summary: Summary) -> FoundSession:
    is_all = summary.bytes is None and summary.member is None
    return FoundSession(
        file=file.path,
        bytes=file.mark.bytes if is_all else summary.bytes,
        modified=max(file.mark.written_ns / 1e9, summary.written or 0.0),
        summary=summary,
    )


def _retention_days(root: Path) -> int | None:
    """`cleanupPeriodDays` of this client folder, if it is set."""
    from contextecho.sessions.building.jsontext import decode_json

    file = root / "settings.json"
    try:
        refuse_endless(file)
        settings = decode_json(file.read_bytes())
    except OSError:
        return None
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) else None
