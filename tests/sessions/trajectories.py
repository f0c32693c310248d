"""What the tests of agents' trajectories share: documents and their sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contextecho.sessions import Session, read_session
from contextecho.sessions.reading import members_of


def document(folder: Path, value: Any, name: str = "run.json") -> Path:
    """The value as a JSON document spread over lines, as the agents write it."""
    path = folder / name
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def read_all(path: Path, format: str | None = None) -> Iterator[Session]:
    """Every session in a file."""
    for member in members_of(path, format=format):
        yield read_session(path if member is None else f"{path}#{member}", format=format)
