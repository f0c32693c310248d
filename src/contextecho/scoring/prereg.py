"""Pre-registrations of studies as they are collected: what a lock freezes, and keeping to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from contextecho.errors import UsageError
from contextecho.scoring.contrasts import MAXIMUM_MISSING, PRIMARY
from contextecho.scoring.guards import THRESHOLD
from contextecho.scoring.judgement import READING
from contextecho.scoring.rubric import load_rubric
from contextecho.scoring.verdicts import judge_version
from contextecho.stats import drift_gap
from contextecho.studies import Frozen, Parts, Plan, differences, freeze, parts_of, read_chain
from contextecho.studies import registered as registered_by

_EXCLUDED = (
    "a missing, refused, empty, cut or unreadable answer is no score, and its pair is left out"
)
_COMPUTE = ("contextecho", "numpy", "scipy")  # of the versions a run keeps
_MOST_NAMED = 6


def parts_for(plans: Sequence[Plan], judges: Sequence[str], versions: Mapping[str, str]) -> Parts:
    """What a lock of these plans freezes, and what a call for them must find there.

    `versions` are those that a run keeps.
    """
    return frozen_parts(map(freeze, plans), dict(_readings(plans, judges)), versions)


def frozen_parts(
    plans: Iterable[Frozen], judges: Mapping[str, str], versions: Mapping[str, str]
) -> Parts:
    """The same, of what a store holds; `judges` as `reading` names them."""
    code = {name: versions[name] for name in _COMPUTE if name in versions}
    return parts_of(plans, rules=_rules(), judges=judges, code=code)


def reading(judge: str, version: str) -> str:
    """How the part `judges` names a judge with the rubric of a version (`judge_version`)."""
    return f"{judge} by {version.partition('/')[0]}"


def keep_to(
    path: Path, plans: Sequence[Plan], judges: Sequence[str], versions: Mapping[str, str]
) -> tuple[Plan, ...]:
    """The plans, registered under the lock in `path`.

    Raises `UsageError` that names what differs from it, and `DataError` for a lock or a
    chain of amendments that is not whole.
    """
    chain = read_chain(path)
    found = differences(chain[-1], parts_for(plans, judges, versions))
    if found:
        more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise UsageError(
            f"not as locked: {'; '.join(found[:_MOST_NAMED])}{more}",
            where=str(path),
            todo="ask as it was locked, amend it (contextecho prereg amend), or leave it out: "
            "the run is exploratory then",
        )
    named = registered_by(chain)
    return tuple(msgspec.structs.replace(plan, registered=named) for plan in plans)


def _rules() -> Mapping[str, Any]:
    """How replies are scored and estimated."""
    defaults = drift_gap.__kwdefaults__ or {}
    return {
        "estimator": f"{defaults['method']}, level {defaults['level']}",
        "primary measure": f"the first that a run has of {', '.join(PRIMARY)}",
        "exclusions": _EXCLUDED,
        "most missing pairs": MAXIMUM_MISSING,
        "threshold of the guard": THRESHOLD,
        "reading of verdicts": READING,
    }


def _readings(plans: Iterable[Plan], judges: Iterable[str]) -> Iterator[tuple[str, str]]:
    """By which version each judge reads, and the hash of each rubric."""
    for name in dict.fromkeys(plan.protocol.rubric for plan in plans):
        rubric = load_rubric(name)
        yield f"rubric {rubric.id}", rubric.sha256
        for judge in judges:
            version = judge_version(rubric, judge)
            yield reading(judge, version), version
