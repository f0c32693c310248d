"""How alike sessions are: the variance of paired differences, between sessions and within.

The one thing to know: a reply that breaks its contract is long for that reason, so the
spread of length is also given for the pairs that keep it in both arms (paper, tables 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contextecho.scoring.contrasts import Arms, by_session
from contextecho.scoring.model import Measure, SessionSpread
from contextecho.scoring.scores import ScoredCell
from contextecho.stats import mixed_mean, pair_cells

_SESSION = "session"


def spreads_of(
    surfaces: Iterable[tuple[Measure, Arms]], level: str | None
) -> Iterator[SessionSpread]:
    """The spread of each contrast's pairs over sessions; of length also where contracts hold."""
    for measure, arms in surfaces:
        yield _spread(measure, arms, level, conditional=False)
        if measure is Measure.LENGTH and any(c.compliance for arm in arms for c in arm):
            yield _spread(measure, arms, level, conditional=True)


def _spread(measure: Measure, arms: Arms, level: str | None, *, conditional: bool) -> SessionSpread:
    a, b = (
        ([by_session(c) for c in arm], [_value(c, measure, conditional=conditional) for c in arm])
        for arm in arms
    )
    pairs = pair_cells(*a, *b)
    found = mixed_mean(pairs.differences, {_SESSION: pairs.clusters})
    cell = arms[0][0].cell
    return SessionSpread(
        target=cell.target,
        battery=cell.battery,
        measure=measure,
        level=level,
        conditional=conditional,
        between=found.components.get(_SESSION),
        within=found.components.get("residual"),
        sessions=len(pairs.cluster_names),
        pairs=len(pairs),
        note=found.note,
    )


def _value(scored: ScoredCell, measure: Measure, *, conditional: bool) -> float | None:
    kept = not conditional or (scored.compliance is not None and scored.compliance.ok)
    return scored.value(measure) if kept else None
