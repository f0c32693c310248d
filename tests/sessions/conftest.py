"""Fixtures of the sessions room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Session, read_session
from sessions.building import write


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Session]:
    """Write records to a file and read it."""

    def _read(*records: Any) -> Session:
        return read_session(write(tmp_path, records))

    return _read
