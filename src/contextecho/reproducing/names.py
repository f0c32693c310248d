"""Which folder of the released tree is which target and session of the paper.

The one thing to know: a folder that is not in the data file is nobody's. `strange_targets`
tells of it; no name is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from contextecho.bundled import read_bundled
from contextecho.release import Cells


class PaperTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target: who made it, and its folders."""

    maker: str
    folders: tuple[str, ...]


class PaperNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Targets and sessions by the names that the paper prints."""

    version: str
    licence: str
    source: str
    targets: Mapping[str, PaperTarget]
    sessions: Mapping[str, str]


@cache
def paper_names() -> PaperNames:
    """The names that are known; read once. Raises `DataError` when the file is damaged."""
    return read_bundled("reproducing", "targets", PaperNames)


def strange_targets(cells: Cells) -> tuple[str, ...]:
    """Folders of targets that no name of the paper is known for."""
    known = {folder for target in paper_names().targets.values() for folder in target.folders}
    return tuple(sorted(set(cells.target.names) - known))
