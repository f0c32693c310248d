"""Kept states of a session that went on: what a later state, or the client's file, holds whole.

The one thing to know: clients that write lines only add to a file, so that a state which was
kept is how a later one begins, byte for byte, and is no session of its own beside it. Files
are compared only where they bear one name and belong to one session.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Final

from contextecho.errors import SessionError
from contextecho.sessions.finding.hashes import Hashes
from contextecho.sessions.finding.summary import Original
from contextecho.sessions.finding.walking import Candidate

_PACKED: Final = ".zst"
_PEEK: Final = 1 << 10

State = tuple[int, str]
"""(bytes of the content, path) of a file."""


def earlier_among(
    files: Sequence[Candidate],
    originals: Mapping[str, Sequence[Original]],
    hashes: Hashes,
    whose: Callable[[str], Hashable],
    named: Collection[str] = (),
) -> frozenset[str]:
    """The paths of the files that were kept of sessions which went on in others of the files.

    `originals` and `hashes` are as for `copies_among`; `whose` gives for a path what is the same
    for all states of a session, or `None` where it cannot be told. Files that the user `named`
    are never among them.
    """
    kept = {path: of[0] for path, of in originals.items() if path.endswith(_PACKED) and of[0].bytes}
    states = _by_name(files, originals, kept)
    earlier = (
        path
        for same in states.values()
        for path in _held(same, kept, hashes, whose)
        if path not in named
    )
    return frozenset(earlier)


def begins_with(path: str) -> bytes | None:
    """What tells a session's states from other files of their name: how the first line begins."""
    from pathlib import Path

    from contextecho.sessions.packing.packed import beginning

    try:
        return beginning(Path(path), _PEEK).partition(b"\n")[0] or None
    except (OSError, SessionError):
        return None


def _by_name(
    files: Sequence[Candidate],
    originals: Mapping[str, Sequence[Original]],
    kept: Mapping[str, Original],
) -> dict[str, list[State]]:
    """The states under each name that something was kept of; converted sessions are none."""
    states: dict[str, list[State]] = {_name(path).removesuffix(_PACKED): [] for path in kept}
    for file in files if kept else ():
        if (original := kept.get(file.path)) is not None:
            states[_name(file.path).removesuffix(_PACKED)].append((original.bytes, file.path))
        elif file.path not in originals and (same := states.get(_name(file.path))) is not None:
            same.append((file.mark.bytes, file.path))
    return states


def _held(
    states: Sequence[State],
    kept: Mapping[str, Original],
    hashes: Hashes,
    whose: Callable[[str], Hashable],
) -> Iterator[str]:
    """The kept ones among files of one name that are how a longer one begins."""
    by_session = defaultdict[Hashable, list[State]](list)
    for size, path in states if len(states) > 1 else ():
        if (session := whose(path)) is not None:
            by_session[session].append((size, path))
    for same in by_session.values():
        left = {path: kept[path] for _, path in same if path in kept}
        for size, path in sorted(same, reverse=True):
            shorter = {state: one for state, one in left.items() if one.bytes < size}
            begins = _beginnings(path, {one.bytes for one in shorter.values()}, hashes)
            held = [state for state, one in shorter.items() if begins.get(one.bytes) == one.sha256]
            for state in held:
                del left[state]
            yield from held


def _beginnings(path: str, lengths: Collection[int], hashes: Hashes) -> Mapping[int, str]:
    """Nothing of a file that cannot be read."""
    try:
        return hashes.beginnings(path, lengths) if lengths else {}
    except (OSError, SessionError):
        return {}


def _name(path: str) -> str:
    return path.rpartition(os.sep)[2]
