"""All figures of a run, in the order a reader meets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from contextecho.errors import UsageError
from contextecho.reports.figures import Figure
from contextecho.reports.forests import arm_forests, contract_forests, contrast_forests
from contextecho.reports.maps import fingerprint_maps
from contextecho.reports.trajectories import trajectories
from contextecho.reports.typeset import listing
from contextecho.reports.view import View, view_of
from contextecho.scoring import RunAnalysis


def figures(analysis: RunAnalysis) -> tuple[Figure, ...]:
    """Every figure that the run's numbers allow; none if nothing was scored."""
    return compose(view_of(analysis))


def compose(seen: View) -> tuple[Figure, ...]:
    """The figures of a run that is already indexed."""
    return tuple(_unique_ids(_all(seen)))


def select(found: tuple[Figure, ...], only: Iterable[str]) -> tuple[Figure, ...]:
    """The figures whose family or id is named; all if nothing is.

    Raises `UsageError` for a name that matches none.
    """
    names = tuple(only)
    known = {f.family for f in found} | {f.id for f in found}
    for name in names:
        if name not in known:
            families = listing(tuple(dict.fromkeys(f.family for f in found)))
            raise UsageError(
                f"no figure is called {name!r}",
                todo=f"this run has {families or 'no figures'}",
            )
    return tuple(f for f in found if not names or f.family in names or f.id in names)


def _all(seen: View) -> Iterator[Figure]:
    yield from trajectories(seen)
    yield from arm_forests(seen)
    yield from contrast_forests(seen)
    yield from fingerprint_maps(seen)
    yield from contract_forests(seen)


def _unique_ids(found: Iterable[Figure]) -> Iterator[Figure]:
    taken: set[str] = set()
    for figure in found:
        name, copies = figure.id, 1
        while name in taken:
            copies += 1
            name = f"{figure.id}-{copies}"
        taken.add(name)
        yield msgspec.structs.replace(figure, id=name)
