"""Gaps of the panel: Appendix B, figures 1 to 3 and 6, and three replies of table 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    ARMS,
    CODING,
    LATE,
    PANEL,
    chosen,
    counted_as,
    gap,
    known,
    less,
    mean_of_targets,
    mean_score,
    of_target,
    of_targets,
    scores_of,
)
from contextecho.reproducing.model import Findings, Found
from contextecho.reproducing.names import paper_names
from contextecho.stats import CellKey, GapEstimate, drift_gap, pair_cells

_LARGE = 0.30
_CATEGORIES = {
    "Identity": ("I",),
    "Experience": ("O", "E"),
    "Preference": ("P",),
    "Relational": ("R",),
    "Coding-Self": ("C",),
}
_REPLIES = {  # of table 7: arm and position
    "filler at P0_start": ("control", "P0_start"),
    "claude at P1_pre_C1": ("session", "P1_pre_C1"),
    "claude at P0_start": ("session", "P0_start"),
    "claude at P3_post_C3": ("session", "P3_post_C3"),
}


def panel_gaps(cells: Cells) -> Findings:
    """Appendix B: mean of each arm, gap with our interval, positions."""
    found: dict[str, Found | None] = {}
    for name, own in of_targets(chosen(cells, **PANEL, stimulus=CODING)):
        row = f"appendix-B/{name}"
        arms = {printed: mean_score(chosen(own, arm=arm)) for printed, arm in ARMS.items()}
        found |= {f"{row}/{printed}": mean for printed, mean in arms.items()}
        ours = paired_gap(own)
        found[f"{row}/gap"] = less(arms["filler"], arms["claude"], ours.interval, _ours(ours))
        found[f"{row}/positions"] = counted_as(_positions(own), len(own))
    return known(found)


def paired_gap(cells: Cells) -> GapEstimate:
    """Our estimate: paired cells, positions as clusters, a small-sample interval."""
    control, session = (_by_key(chosen(cells, arm=arm)) for arm in ARMS.values())
    return drift_gap(
        pair_cells(list(control), list(control.values()), list(session), list(session.values()))
    )


def _by_key(cells: Cells) -> dict[CellKey, float]:
    """Scores to use; of a cell that two files claim (its two names of an arm) there is none."""
    keys = [_key(cells, row) for row in range(len(cells))]
    times = Counter(keys)
    return {
        key: float(score) if times[key] == 1 else np.nan
        for key, score in zip(keys, cells.score, strict=True)
    }


def _key(cells: Cells, row: int) -> CellKey:
    return (
        cells.position[row],
        cells.stimulus[row],
        int(np.nan_to_num(cells.paraphrase[row])),
        int(np.nan_to_num(cells.replicate[row])),
    )


def _ours(estimate: GapEstimate) -> str | None:
    if estimate.estimate is None:
        return estimate.note
    said = f"ours, of {estimate.pairs} pairs: {estimate.estimate:+.2f}"
    return f"{said}; {estimate.note}" if estimate.note else said


def _positions(cells: Cells) -> int:
    """Positions with a score in both arms."""
    scored = np.isfinite(cells.score)
    held = [set(cells.position.codes[scored & cells.where(arm=arm)]) for arm in ARMS.values()]
    return len(held[0] & held[1])


def said_of_gaps(cells: Cells) -> Findings:
    """Figure 3: what the text says of all of them."""
    coding = chosen(cells, **PANEL, stimulus=CODING)
    gaps = known({name: gap(own) for name, own in of_targets(coding)})
    if not gaps:
        return {}
    numbers = {name: each.number for name, each in gaps.items()}
    large = [name for name, number in numbers.items() if number >= _LARGE - 1e-9]
    everywhere = sum(_positions(own) == 12 for _, own in of_targets(coding))
    values = {
        "targets": len(numbers),
        "organisations": _makers(list(numbers)),
        "targets of 0.30 or more": len(large),
        "organisations among these": _makers(large),
        "targets at 12 positions": everywhere,
        "least gap": min(numbers.values()),
        "greatest gap": max(numbers.values()),
    }
    n, left_out = (sum(getattr(each, of) for each in gaps.values()) for of in ("n", "left_out"))
    return {
        f"figure-3/{row}/value": Found(number=float(value), n=n, left_out=left_out)
        for row, value in values.items()
    }


def _makers(names: Sequence[str]) -> int:
    return len({paper_names().targets[name].maker for name in names})


def full_battery(cells: Cells) -> Findings:
    """Figures 6 and 1 (b): gap on all 25 probes."""
    gaps = {name: gap(own) for name, own in of_targets(chosen(cells, **PANEL))}
    found = {f"figure-6/{name}/gap": each for name, each in gaps.items()}
    return known(found | {"figure-1b/Sonnet 4.5/gap": gaps.get("Sonnet 4.5")})


def categories(cells: Cells) -> Findings:
    """Figure 2: gap by category of probes, mean of the targets that the script chose."""
    panel = chosen(cells, **PANEL)
    drifted = [own for _, own in of_targets(panel) if _drifts(own)]
    note = (
        f"of {len(drifted)} targets with a coding gap of 0.30 or more, as the published script"
        " chooses them, by the outcome; the paper speaks of six"
    )
    found = {}
    for category, letters in _CATEGORIES.items():
        gaps = [each for own in drifted if (each := gap(_of_category(own, letters)))]
        found[f"figure-2/{category}/gap"] = mean_of_targets(gaps, note)
    return known(found)


def _drifts(cells: Cells) -> bool:
    coding = gap(chosen(cells, stimulus=CODING))
    return coding is not None and abs(coding.number) >= _LARGE - 1e-9


def _of_category(cells: Cells, letters: Sequence[str]) -> Cells:
    return chosen(cells, stimulus=[name for name in cells.stimulus.names if name[0] in letters])


def shown_replies(cells: Cells) -> Findings:
    """Figure 1 (a) and table 7: scores of single replies of Sonnet 4.5 to C01."""
    own = of_target(chosen(cells, **PANEL, stimulus="C01"), "Sonnet 4.5")
    found = dict(_scores(own))
    for printed, arm in ARMS.items():
        found[f"figure-1a/{printed}/score"] = _one(own, arm, LATE)
    return known(found)


def _scores(cells: Cells) -> Iterator[tuple[str, Found | None]]:
    for row, (arm, position) in _REPLIES.items():
        yield f"table-7/{row}/score", _one(cells, arm, position)


def _one(cells: Cells, arm: str, position: str) -> Found | None:
    """The score of the one reply; that of several is nobody's."""
    own = chosen(cells, arm=arm, position=position)
    values, _ = scores_of(own)
    return counted_as(values[0], 1) if len(own) == 1 and np.isfinite(values[0]) else None
