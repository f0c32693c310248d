"""The next tool call: Appendix M."""

from __future__ import annotations

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import chosen, counted_as, of_targets, scores_of
from contextecho.reproducing.model import Findings, Found

_ARGUMENTS = "argument-similarity"
_PAIRED = "pairs whose two arms both chose the right tool, which is an outcome itself"


def continuations(cells: Cells) -> Findings:
    """Similarity of arguments, session less a foreign prefix."""
    found: dict[str, Found] = {}
    for name, own in of_targets(chosen(cells, experiment="downstream_coding")):
        row = f"appendix-M/{name}"
        found[f"{row}/cut points"] = counted_as(len(np.unique(own.position.codes)), len(own))
        session, foreign = (_similar(chosen(own, arm=arm)) for arm in ("session", "foreign"))
        shared = sorted(session.keys() & foreign.keys())
        found[f"{row}/pairs"] = counted_as(len(shared), len(own), _PAIRED)
        if shared:
            differences = [session[cut] - foreign[cut] for cut in shared]
            found[f"{row}/difference"] = Found(
                number=float(np.mean(differences)), n=len(shared), note=_PAIRED
            )
    return found


def _similar(cells: Cells) -> dict[str, float]:
    values, _ = scores_of(cells, _ARGUMENTS)
    known = np.flatnonzero(np.isfinite(values))
    return {str(cells.position[int(row)]): float(values[row]) for row in known}
