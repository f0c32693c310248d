"""Choosing cells and taking their means, as the paper defines them.

The one thing to know: a score that may not be used enters no number. How many there were is
counted, and the mean with them, as the published analysis took it, stands beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from contextecho.release import Cells, Flag
from contextecho.reproducing.model import Found
from contextecho.reproducing.names import paper_names
from contextecho.stats import Interval

Words: TypeAlias = Mapping[str, Any]

CODING = ("C01", "C02", "C03", "C04", "C05")
ANTHROPIC = ("Sonnet 4.6", "Sonnet 4.5", "Opus 4.1", "Haiku 4.5")
LATE = "P5_pre_C6"
ARMS = {"filler": "control", "claude": "session"}  # the paper's names, and ours
PANEL: Words = {"experiment": "probes_at_crosscompaction", "session": "raw_transcript"}


def of_targets(cells: Cells) -> Iterator[tuple[str, Cells]]:
    """The cells of each target of the paper that has some, by its printed name."""
    for name, target in paper_names().targets.items():
        rows = cells.target.among(*target.folders)
        if rows.any():
            yield name, cells.take(rows)


def of_target(cells: Cells, name: str) -> Cells:
    """The cells of one target, by its printed name."""
    return cells.take(cells.target.among(*paper_names().targets[name].folders))


def chosen(cells: Cells, **words: Any) -> Cells:
    """The cells whose columns have these words."""
    return cells.take(cells.where(**words))


def words_of(column: Any) -> list[str]:
    """The words that a column of chosen cells holds, in the order of the alphabet."""
    return sorted({column.names[code] for code in np.unique(column.codes) if code >= 0})


def mean_score(cells: Cells, scorer: str = "register") -> Found | None:
    """Mean over positions of the mean over cells; None without a score."""
    return mean_of(cells, *scores_of(cells, scorer))


def scores_of(cells: Cells, scorer: str = "register") -> tuple[Any, Any]:
    """Scores to use, and as given."""
    scores = cells.by_scorer.get(scorer)
    none = np.full(len(cells), np.nan)
    return (none, none) if scores is None else (scores.value, scores.given)


def mean_of(cells: Cells, values: Any, given: Any) -> Found | None:
    """The same of any column of numbers."""
    sound, said = np.isfinite(values), np.isfinite(given)
    if not sound.any():
        return None
    left_out = int(said.sum() - sound.sum())
    return Found(
        number=by_position(cells, values),
        n=int(sound.sum()),
        left_out=left_out,
        as_published=by_position(cells, given) if left_out else None,
    )


def sure(cells: Cells) -> Cells:
    """The cells that have a reply, and of which it is known what they are."""
    unsure = cells.has(
        Flag.EMPTY_REPLY, Flag.PATH_MISMATCH, Flag.TWO_VERSIONS, Flag.TWO_VOCABULARIES
    )
    return cells.take(~unsure & np.isfinite(cells.length))


def by_position(cells: Cells, values: Any) -> float:
    """Mean over positions, each weighing the same; cells without a number are left out."""
    known = np.isfinite(values)
    places = cells.position.codes[known]
    means = [values[known][places == place].mean() for place in np.unique(places)]
    return float(np.mean(means))


def less(
    first: Found | None,
    second: Found | None,
    interval: Interval | None = None,
    note: str | None = None,
) -> Found | None:
    """The difference of two numbers; None where one is missing."""
    if first is None or second is None:
        return None
    published = None
    if first.left_out or second.left_out:
        published = _given(first) - _given(second)
    return Found(
        number=first.number - second.number,
        n=first.n + second.n,
        left_out=first.left_out + second.left_out,
        as_published=published,
        interval=interval,
        note=note,
    )


def _given(found: Found) -> float:
    return found.number if found.as_published is None else found.as_published


def gap(cells: Cells, scorer: str = "register") -> Found | None:
    """Mean of the control's scores less that of the session's."""
    control, session = (mean_score(chosen(cells, arm=arm), scorer) for arm in ARMS.values())
    return less(control, session)


def mean_of_targets(gaps: Sequence[Found], note: str) -> Found | None:
    """The mean of their gaps, each target weighing the same; None without one."""
    if not gaps:
        return None
    left_out = sum(each.left_out for each in gaps)
    return Found(
        number=float(np.mean([each.number for each in gaps])),
        n=sum(each.n for each in gaps),
        left_out=left_out,
        as_published=float(np.mean([_given(each) for each in gaps])) if left_out else None,
        note=note,
    )


def known(found: Mapping[str, Found | None]) -> dict[str, Found]:
    """Those that there are."""
    return {name: each for name, each in found.items() if each is not None}


def counted_as(number: float, n: int, note: str | None = None) -> Found:
    """A number that is a count or comes from one."""
    return Found(number=float(number), n=n, note=note)
