"""The released tree of the published reference: read, flagged, and as columns to compute on.

Names are loaded when they are first used: what only reads needs no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = [
    "Cells",
    "Flag",
    "Names",
    "ReleaseSummary",
    "Tree",
    "cells_of_store",
    "cells_of_tree",
    "import_release",
    "published_compliance",
    "read_release",
    "summarise",
]

if TYPE_CHECKING:
    from contextecho.release.columns import Cells, Names, cells_of_store, cells_of_tree
    from contextecho.release.contracts import published_compliance
    from contextecho.release.flags import Flag
    from contextecho.release.summary import ReleaseSummary, summarise
    from contextecho.release.tree import Tree, import_release, read_release
else:
    _HOMES = {
        "columns": ("Cells", "Names", "cells_of_store", "cells_of_tree"),
        "contracts": ("published_compliance",),
        "flags": ("Flag",),
        "summary": ("ReleaseSummary", "summarise"),
        "tree": ("Tree", "import_release", "read_release"),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
