"""Files that are the beginning of a session which goes on in another file of the same list.

The one thing to know: only a revert of Codex makes such files, and their names say whose they
are. Reading the newest reads those before it, so that each turn is met once; one that cannot
be read with it stays in the list.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextecho.sessions.finding.walking import Candidate

_ROLLOUT: Final = "rollout-"


def continued_among(files: Sequence[Candidate], named: Collection[str]) -> frozenset[str]:
    """The paths of the files that others of the files go on from, in the same session.

    Those that the user `named` are none.
    """
    places = [file.path for file in files if _ROLLOUT in file.path and _may_go_on(file.path)]
    if not places:
        return frozenset()
    from contextecho.sessions.readers.codex.chain import earlier_of_thread
    from contextecho.sessions.readers.codex.rollouts import rollout_at

    before = set[str]()
    rollouts = filter(None, map(rollout_at, map(Path, places)))
    for rollout in sorted(rollouts, key=lambda each: each.id, reverse=True):
        if os.path.abspath(rollout.path) not in before:  # noqa: PTH100
            before |= {os.path.abspath(path) for path in earlier_of_thread(rollout.path)}  # noqa: PTH100
    return frozenset(
        file.path
        for file in files
        if file.path not in named and os.path.abspath(file.path) in before  # noqa: PTH100
    )


def _may_go_on(path: str) -> bool:
    name = path.rpartition(os.sep)[2]
    return name.startswith(_ROLLOUT) and "_" in name
