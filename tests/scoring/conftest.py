from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextecho.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "kept") as opened:
        yield opened
