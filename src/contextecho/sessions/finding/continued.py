"""Files that are the beginning of a session which goes on in another file of the same list.

The one thing to know: only a revert of Codex makes such files, and their names say whose they
are. Reading the newest reads those before it, so that each turn is met once.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextecho.sessions.finding.walking import Candidate


def continued_among(files: Sequence[Candidate], named: Collection[str]) -> frozenset[str]:
    """The paths of the files that others of the files go on from, in the same session.

    Those that the user `named` are none.
    """
    places = [file.path for file in files if _may_go_on(os.path.basename(file.path))]  # noqa: PTH119
    if not places:
        return frozenset()
    from contextecho.sessions.readers.codex.rollouts import Rollouts, rollout_at

    before = set[str]()
    newest_first = sorted(filter(None, map(rollout_at, map(Path, places))), key=lambda r: r.id)
    for rollout in reversed(newest_first):
        if os.path.abspath(rollout.path) not in before:  # noqa: PTH100
            thread = Rollouts(rollout.path).of_thread(rollout.thread, rollout.id)
            before |= {str(each.path) for each in thread if each.id != rollout.id}
    return frozenset(
        file.path
        for file in files
        if file.path not in named and os.path.abspath(file.path) in before  # noqa: PTH100
    )


def _may_go_on(name: str) -> bool:
    return name.startswith("rollout-") and "_" in name
