"""Which computations there are, and why some numbers of the paper cannot be computed."""

from __future__ import annotations

from collections.abc import Mapping

from contextecho.release import Cells
from contextecho.reproducing import (
    anchors,
    controls,
    fidelity,
    gaps,
    heterogeneity,
    judges,
    onset,
    stressors,
)
from contextecho.reproducing.choosing import counted_as
from contextecho.reproducing.model import Family, Findings


def whole(cells: Cells) -> Findings:
    """How many cells there are."""
    note = "a file of a continuation may hold two; which experiments the paper counts is not said"
    return {"text/cells/value": counted_as(len(cells), len(cells), note)}


FAMILIES: Mapping[Family, tuple[str, ...]] = {
    gaps.shown_replies: ("figure-1a", "table-7"),
    gaps.full_battery: ("figure-1b", "figure-6"),
    gaps.categories: ("figure-2",),
    gaps.said_of_gaps: ("figure-3",),
    gaps.panel_gaps: ("appendix-B",),
    anchors.anchored_panel: ("figure-4",),
    anchors.persistence: ("figure-8",),
    anchors.sizes: ("figure-9",),
    anchors.placement: ("appendix-I",),
    stressors.contract_pair: ("figure-5",),
    stressors.four_stressors: ("appendix-N",),
    heterogeneity.trajectories: ("figure-7",),
    heterogeneity.heterogeneity: ("table-1", "table-2", "appendix-E"),
    judges.agreement_of_audit: ("figure-12",),
    judges.audit: ("table-5",),
    judges.repeated: ("appendix-O", "appendix-O-agreement"),
    onset.onset_gaps: ("table-4",),
    onset.onset_counts: ("appendix-K",),
    controls.framing: ("table-6",),
    controls.negative_controls: ("appendix-J",),
    fidelity.continuations: ("appendix-M",),
    whole: ("text",),
}
"""Each computation, and the exhibits that it gives numbers for."""

_LATE_CELL = "which cell of this stressor the paper shows is not said"
NOT_IN_DATA: Mapping[str, str] = {
    "figure-10": "its numbers are those of table-4",
    "figure-11": "no activations or steered replies are released",
    "table-3": "the paper gives ranges, and does not say of which targets and positions",
    "table-7/filler at P0_start, another": "a second reply of one cell, of which one is released",
    "table-8": "identifiers of models, and no number",
    "appendix-M-terminal": "the logs of the terminal tasks hold no cells, and are not read",
    "appendix-M/Sonnet 4.6, same task": "no file says which task a cut point belongs to",
    "appendix-M/Sonnet 4.6, other task": "no file says which task a cut point belongs to",
    "appendix-N/S1": _LATE_CELL,
    "appendix-N/S3": _LATE_CELL,
    "appendix-N/S4": _LATE_CELL,
    "appendix-S": "no file says a turn; ours are taken from this appendix",
    "text/cells, elsewhere": "the paper's other count of what text/cells compares",
    "text": "of the sessions, which are not among the cells",
}
"""By the beginning of an id, the longest that fits; of other numbers the cells are missing."""

NOT_SAID: Mapping[str, str] = {"appendix-M//p": "which test gave it is not said"}
"""By exhibit and column."""


def why_missing(exhibit: str, row: str, column: str) -> str:
    """Why a number was not found."""
    if said := NOT_SAID.get(f"{exhibit}//{column}"):
        return said
    return (
        NOT_IN_DATA.get(f"{exhibit}/{row}")
        or NOT_IN_DATA.get(exhibit)
        or "this release has no scored cells of it"
    )
