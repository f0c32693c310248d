"""What should differ and does not, and the other way round.

The one thing to know: a prefix is not in the release, but its length in tokens is. Two
positions of a session at which every question has as many input tokens were shown the same
prefix. The control is left out: it is the same text wherever the prefix is full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from contextecho.release.flags import Flag
from contextecho.release.reading import FileRead
from contextecho.release.walking import Found
from contextecho.store import Finding, ImportedCell

_OF_SESSION = ("session", "session+anchor")
_Asked = tuple[str | None, int | None, int | None]  # stimulus, paraphrase, replicate


def same_prefixes(cells: Sequence[ImportedCell]) -> Iterator[Finding]:
    """A finding for each cell of a position whose prefix is that of another position."""
    for group in _trajectories(cells).values():
        twins: dict[str, list[str]] = {}
        for one, other in combinations(group, 2):
            if _alike(group[one], group[other]):
                twins.setdefault(one, []).append(other)
                twins.setdefault(other, []).append(one)
        for position, others in twins.items():
            for cell in group[position].values():
                detail = f"{cell.input_tokens} tokens, as at {', '.join(others)}"
                yield Finding(flag=Flag.SAME_PREFIX.value, path=cell.path, detail=detail)


def _trajectories(
    cells: Sequence[ImportedCell],
) -> Mapping[object, dict[str, dict[_Asked, ImportedCell]]]:
    """Cells with a token count, by what is asked, by position, for each trajectory."""
    found: dict[object, dict[str, dict[_Asked, ImportedCell]]] = defaultdict(dict)
    for cell in cells:
        position = cell.position or (None if cell.turn is None else f"turn {cell.turn}")
        counted = cell.input_tokens is not None and cell.arm in _OF_SESSION
        if position is None or not counted or position.startswith("cut"):
            continue
        group = (cell.experiment, cell.condition, cell.target, cell.session, cell.arm)
        asked = (cell.stimulus, cell.paraphrase, cell.replicate)
        found[group].setdefault(position, {})[asked] = cell
    return found


def _alike(one: Mapping[_Asked, ImportedCell], other: Mapping[_Asked, ImportedCell]) -> bool:
    common = one.keys() & other.keys()
    return bool(common) and all(one[a].input_tokens == other[a].input_tokens for a in common)


def two_versions(found: Sequence[Found], read: Sequence[FileRead]) -> list[FileRead]:
    """The files, those voided that two roots hold differently: neither is known to be right."""
    versions: dict[str, list[str]] = defaultdict(list)
    for file in found:
        versions[file.below].append(file.path)
    return [
        voided(its, Flag.TWO_VERSIONS, f"beside {', '.join(p for p in paths if p != file.path)}")
        if len(paths := versions[file.below]) > 1 and its.cells
        else its
        for file, its in zip(found, read, strict=True)
    ]


def voided(file: FileRead, flag: Flag, detail: str) -> FileRead:
    """A file with one more flag that voids; verdicts that were void already keep their reason."""
    finding = Finding(flag=flag.value, path=file.path, detail=detail)
    cells = tuple(
        msgspec.structs.replace(
            cell,
            verdicts=tuple(
                verdict
                if verdict.invalid
                else msgspec.structs.replace(verdict, value=None, invalid=flag.value)
                for verdict in cell.verdicts
            ),
        )
        for cell in file.cells
    )
    return FileRead(file.path, file.sha256, cells, (*file.findings, finding))
