"""Where the gap begins: table 4 (drawn in figure 10) and Appendix K."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import ARMS, chosen, counted_as, gap, of_target, scores_of
from contextecho.reproducing.model import Findings, Found
from contextecho.stats import published_onset_gap

_IN_ORDER = ("Sonnet 4.5", "Sonnet 4.6", "Opus 4.1", "Haiku 4.5")  # of the table
_SEED = 42
_AS_PUBLISHED = "published interval: replies as if independent; targets drawn in the table's order"


def onset_gaps(cells: Cells) -> Findings:
    """Table 4: the gap at each turn, with the published interval."""
    rng = np.random.default_rng(_SEED)
    found: dict[str, Found] = {}
    for name in _IN_ORDER:
        own = of_target(chosen(cells, experiment="drift_onset"), name)
        for turn in np.unique(own.turn[np.isfinite(own.turn)]):
            row = f"table-4/{name} at {int(turn)}"
            found |= {f"{row}/{column}": each for column, each in _gap(own, turn, rng)}
    return found


def _gap(cells: Cells, turn: float, rng: Any) -> Iterator[tuple[str, Found]]:
    own = cells.take(cells.turn == turn)
    middle = gap(own)
    if middle is None:
        return
    yield "gap", middle
    control, session = (_scored(chosen(own, arm=arm)) for arm in ARMS.values())
    limits = published_onset_gap(control, session, rng)
    for column, number in (("low", limits.low), ("high", limits.high)):
        yield (
            column,
            Found(number=number, n=limits.n, left_out=middle.left_out, note=_AS_PUBLISHED),
        )


def _scored(cells: Cells) -> Any:
    values, _ = scores_of(cells)
    return values[np.isfinite(values)]


def onset_counts(cells: Cells) -> Findings:
    """Appendix K: turns, replies of a cell, of a target, of all."""
    own = chosen(cells, experiment="drift_onset")
    if not len(own):
        return {}
    at = np.stack([own.target.codes, own.turn, own.arm.codes])
    values = {
        "turns": len(np.unique(own.turn)),
        "replies a cell": np.unique(at, axis=1, return_counts=True)[1].max(),
        "cells a target": np.unique(own.target.codes, return_counts=True)[1].max(),
        "cells": len(own),
    }
    return {f"appendix-K/{row}/value": counted_as(count, len(own)) for row, count in values.items()}
