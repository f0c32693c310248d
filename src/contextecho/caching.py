"""Where the program keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache: `CONTEXTECHO_CACHE`, or the platform's own place."""
    named = os.environ.get("CONTEXTECHO_CACHE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_cache_path  # where a variable says it, nothing need be asked

    return user_cache_path("contextecho")
