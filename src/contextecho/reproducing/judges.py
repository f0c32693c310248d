"""Two judges on the same replies: figure 12, table 5, Appendix O."""

from __future__ import annotations

from typing import Any

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    ARMS,
    chosen,
    counted_as,
    gap,
    known,
    less,
    mean_of_targets,
    mean_score,
    of_targets,
    scores_of,
)
from contextecho.reproducing.model import Findings, Found
from contextecho.stats import Agreement, agreement

_SCORERS = {"Sonnet": "register/sonnet", "GPT-5": "register/gpt5"}
_TIES = "ties averaged; the published one depends on the order of files"
_ZERO = "as the paper counts: 0 goes with a positive gap and against a negative one"


def audit(cells: Cells) -> Findings:
    """Table 5: each target's gap by both, and whether the paper calls them alike."""
    found: dict[str, Found | None] = {}
    for name, own in of_targets(chosen(cells, experiment="crossjudge_audit")):
        first, second = (gap(own, scorer) for scorer in _SCORERS.values())
        row = f"table-5/{name}"
        found |= {f"{row}/Sonnet": first, f"{row}/GPT-5": second}
        if first and second:
            alike = (first.number > -1e-9) == (second.number > -1e-9)
            found[f"{row}/agree"] = counted_as(alike, first.n, _ZERO)
    return known(found)


def agreement_of_audit(cells: Cells) -> Findings:
    """Figure 12: how alike they are, and the mean of their gaps."""
    own = chosen(cells, experiment="crossjudge_audit")
    measured = _agreement(own)
    found = _measures("figure-12", measured)
    found["figure-12/kappa/value"] = _measure(measured.kappa, measured, "not weighted")
    found["figure-12/rho/value"] = _measure(measured.spearman, measured, _TIES)
    for printed, scorer in zip(("Sonnet 4.6", "GPT-5"), _SCORERS.values(), strict=True):
        gaps = [each for _, of in of_targets(own) if (each := gap(of, scorer))]
        found[f"figure-12/gap by {printed}/value"] = mean_of_targets(
            gaps, f"mean of {len(gaps)} targets"
        )
    return known(found)


def repeated(cells: Cells) -> Findings:
    """Appendix O: Haiku 4.5 again, 25 times each probe."""
    own = chosen(cells, experiment="haiku_crossjudge_n25")
    found = _measures("appendix-O-agreement", _agreement(own))
    for printed, scorer in zip(("Sonnet 4.6", "GPT-5"), _SCORERS.values(), strict=True):
        arms = {name: mean_score(chosen(own, arm=arm), scorer) for name, arm in ARMS.items()}
        found |= {f"appendix-O/{printed}/{name}": mean for name, mean in arms.items()}
        found[f"appendix-O/{printed}/gap"] = less(arms["filler"], arms["claude"])
    return known(found)


def _agreement(cells: Cells) -> Agreement:
    first, second = (_scored(scores_of(cells, scorer)[0]) for scorer in _SCORERS.values())
    return agreement(first, second)


def _scored(values: Any) -> list[int | None]:
    return [int(value) if np.isfinite(value) else None for value in values]


def _measures(exhibit: str, measured: Agreement) -> dict[str, Found | None]:
    pairs = counted_as(measured.n, measured.n) if measured.n else None
    return {
        f"{exhibit}/pairs/value": pairs,
        f"{exhibit}/exact/value": _measure(measured.exact, measured),
        f"{exhibit}/within one/value": _measure(measured.within_one, measured),
    }


def _measure(value: float | None, measured: Agreement, note: str | None = None) -> Found | None:
    if value is None:
        return None
    return Found(number=value, n=measured.n, left_out=measured.dropped, note=note)
