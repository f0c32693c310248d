"""Defaults that both the command line and the rooms state.

The one thing to know: a command shows its defaults before it imports any room, so
those it shares with one stand here.
"""

from __future__ import annotations

from pathlib import Path

STORE = ".contextecho"  # the folder in which replies are kept
TIMEOUT = 300.0  # seconds, of one call
ATTEMPTS = 6  # for each request, the first one included
FEWEST_POSITIONS = 5  # fewer say little: positions are what an interval counts


def store_place(given: str | Path) -> str | Path:
    """Where a store is, as it was named: a path, or a URL, which must not become a path."""
    return given if "://" in str(given) else Path(given)
