"""Fixtures of the sessions room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Session, read_session
from sessions.claude_code_lines import write


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(folder))
    return folder


@pytest.fixture
def read_text(tmp_path: Path) -> Callable[[str], Session]:
    """Write a text to a file and read it."""

    def _read(text: str) -> Session:
        path = tmp_path / "session"
        path.write_text(text, encoding="utf-8")
        return read_session(path)

    return _read


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Session]:
    """Write records to a file and read it."""

    def _read(*records: Any) -> Session:
        return read_session(write(tmp_path, records))

    return _read
