"""The contract S2: figure 5 and Appendix N."""

from __future__ import annotations

from typing import Any

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    ARMS,
    LATE,
    by_position,
    chosen,
    known,
    of_target,
    of_targets,
    sure,
    words_of,
)
from contextecho.reproducing.model import Findings, Found

_THREE = ("P0_start", "P3_post_C3", LATE)
_PLAIN = {"experiment": "cross_compaction", "stimulus": "S2"}
_ANCHORED = {"experiment": "anchor_variants", "condition": "A_COMBINED", "stimulus": "S2"}
_EMPTY = "empty replies are left out; the published analysis has them break the contract"


def contract_pair(cells: Cells) -> Findings:
    """Figure 5: compliance and length ratio at three positions; the paper prints no number."""
    anchored = dict(of_targets(chosen(cells, **_ANCHORED, position=_THREE)))
    found: dict[str, Found | None] = {}
    for name, own in of_targets(chosen(cells, **_PLAIN, position=_THREE)):
        arms = {printed: chosen(own, arm=arm) for printed, arm in ARMS.items()}
        if name in anchored:
            arms["anchored"] = anchored[name]
        for printed, of in arms.items():
            found[f"figure-5/{name}/compliance {printed}"] = compliance(of)
            if printed != "filler":
                found[f"figure-5/{name}/length ratio {printed}"] = length_ratio(of, arms["filler"])
    return known(found)


def compliance(cells: Cells) -> Found | None:
    """Share that keeps the contract, mean over positions."""
    values = cells.compliance
    sound = np.isfinite(values)
    if not sound.any():
        return None
    left_out = len(cells) - int(sound.sum())
    return Found(
        number=by_position(cells, values),
        n=int(sound.sum()),
        left_out=left_out,
        note=_EMPTY if left_out else None,
    )


def length_ratio(cells: Cells, control: Cells) -> Found | None:
    """Mean over positions of the ratio of mean lengths, as published."""
    certain = [sure(of) for of in (cells, control)]
    first, second = (_lengths(of) for of in certain)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    ratios = [first[place].mean() / max(1.0, second[place].mean()) for place in shared]
    n = sum(len(each[place]) for each in (first, second) for place in shared)
    left_out = len(cells) + len(control) - sum(map(len, certain))
    return Found(number=float(np.mean(ratios)), n=n, left_out=left_out)


def _lengths(cells: Cells) -> dict[str, Any]:
    return {name: cells.length[cells.where(position=name)] for name in words_of(cells.position)}


def four_stressors(cells: Cells) -> Findings:
    """Appendix N: the length ratio of S2 for Sonnet 4.6, late in the session."""
    own = of_target(chosen(cells, **_PLAIN, position=LATE), "Sonnet 4.6")
    arms = [chosen(own, arm=arm) for arm in ("session", "control")]
    return known({"appendix-N/S2/length ratio": length_ratio(arms[0], arms[1])})
