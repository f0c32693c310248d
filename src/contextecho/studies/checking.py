"""What is wrong with a study that its types cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from contextecho.contexts import anchor_ids, idle_kinds, protocol_ids
from contextecho.own_files import names_data_file
from contextecho.studies.model import IdleTurns, Study


def problems_of(study: Study) -> Iterator[str]:
    """One sentence for each thing that could not be planned or reported, naming its key."""
    yield from _contrasts(study)
    yield from _arms(study)
    yield from _choices("", study.anchor, study.protocol, study.idle)
    for level in study.levels:
        yield from _choices(f"levels.{level.id}: ", level.anchor, level.protocol, level.idle)
    yield from _levels(study)
    for key in ("paraphrases", "replicates", "sessions"):
        if getattr(study, key) < 1:
            yield f"`{key}` is {getattr(study, key)}, and must be 1 or more"
    if study.judges < 0:
        yield f"`judges` is {study.judges}, and must be 0 or more"


def _contrasts(study: Study) -> Iterator[str]:
    for contrast in study.contrasts:
        for arm in (contrast.minus_from, contrast.minus):
            if arm not in study.arms:
                yield f"contrasts.{contrast.id} needs arm {arm}, which `arms` does not name"
        if contrast.minus_from == contrast.minus:
            yield f"contrasts.{contrast.id} takes arm {contrast.minus} from itself"
    for twice in _twice(contrast.id for contrast in study.contrasts):
        yield f'`contrasts.id` is "{twice}" more than once'


def _arms(study: Study) -> Iterator[str]:
    if not study.arms:
        yield "`arms` is empty"
    if _twice(study.arms):
        yield "`arms` names an arm twice"
    anchors = [study.anchor, *(level.anchor for level in study.levels)]
    everywhere = study.anchor is not None or (study.levels and None not in anchors[1:])
    if any(arm.anchored for arm in study.arms) and not everywhere:
        yield "`anchor` is missing, and `arms` has an anchored arm"


def _choices(
    where: str, anchor: str | None, protocol: str | None, idle: IdleTurns | None
) -> Iterator[str]:
    """What a study and a level may choose alike."""
    if anchor is not None and not (names_data_file(anchor) or anchor in anchor_ids()):
        yield f'{where}`anchor` is "{anchor}"; there are {", ".join(anchor_ids())}'
    if protocol is not None and protocol not in protocol_ids():
        yield f'{where}`protocol` is "{protocol}"; there are {", ".join(protocol_ids())}'
    if idle is not None and idle.kind not in idle_kinds():
        yield f'{where}`idle.kind` is "{idle.kind}"; there are {", ".join(idle_kinds())}'
    if idle is not None and idle.turns < 0:
        yield f"{where}`idle.turns` is {idle.turns}, and must be 0 or more"


def _levels(study: Study) -> Iterator[str]:
    if study.levels and study.varies is None:
        yield "`varies` is missing: what the levels are settings of, in a few words"
    for twice in _twice(level.id for level in study.levels):
        yield f'`levels.id` is "{twice}" more than once'
    for level in study.levels:
        if not level.choices:
            yield f"levels.{level.id} chooses nothing"


def _twice(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)
