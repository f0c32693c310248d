"""A study at each of its levels: what is collected as one plan each.

The one thing to know: a level is the study with a few choices in place of its own, so a
plan, a run and a report know nothing of levels but the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from contextecho.errors import UsageError
from contextecho.studies.model import Study


def studies_of(
    study: Study, levels: Sequence[str] | None = None, *, chosen: Iterable[str] = ()
) -> tuple[Study, ...]:
    """The study at its levels, or at those that are named; itself where it has none.

    `chosen` are the fields of `Study` that the caller sets for all of them. Raises
    `UsageError` for a level that does not exist, and where the levels differ in what is chosen.
    """
    known = {level.id: level for level in study.levels}
    for name in levels or ():
        if name not in known:
            has = f"one of {', '.join(known)}" if known else "it has none"
            raise UsageError(f'study {study.id} has no level "{name}"', todo=has)
    varied = sorted({*chosen} & {name for level in study.levels for name in level.choices})
    if varied:
        raise UsageError(
            f"study {study.id} varies {', '.join(varied)}: choosing it would make its levels one",
            todo="leave the choice out, or take another study",
        )
    if not known:
        return (study,)
    wanted = [known[name] for name in dict.fromkeys(levels)] if levels else study.levels
    return tuple(
        msgspec.structs.replace(study, **level.choices, levels=(), level=level) for level in wanted
    )
