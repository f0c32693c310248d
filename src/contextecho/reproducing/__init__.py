"""The first paper's figures and tables again, from the cells that were released with it.

Names are loaded when they are first used: what only names them needs no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = ["Found", "ReproducedExhibit", "ReproducedNumber", "Reproduction", "Verdict", "reproduce"]

if TYPE_CHECKING:
    from contextecho.reproducing.comparing import reproduce
    from contextecho.reproducing.model import (
        Found,
        ReproducedExhibit,
        ReproducedNumber,
        Reproduction,
        Verdict,
    )
else:
    _HOMES = {
        "comparing": ("reproduce",),
        "model": ("Found", "ReproducedNumber", "ReproducedExhibit", "Reproduction", "Verdict"),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
