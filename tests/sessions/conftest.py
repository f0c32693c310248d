"""Fixtures of the sessions room."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Session, read_session, readers, registry
from sessions.claude_code_lines import write


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    running_numbers: Iterator[int],
) -> Path:
    """A cache of the test's own."""
    folder = tmp_path_factory.mktemp(f"cache-{next(running_numbers)}", numbered=False)
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(folder))
    return folder


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """Install a package of one module whose reader is named by an entry point."""
    known, kept = set(sys.modules), (readers._our_modules, registry.other_readers)

    def _install(module: str, source: str) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        folder = tmp_path / f"{module}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[contextecho.readers]\nx = {module}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    for each in kept:
        each.cache_clear()
    yield _install
    for each in kept:
        each.cache_clear()
    for module in set(sys.modules) - known:
        if getattr(sys.modules[module], "__file__", None) == str(tmp_path / f"{module}.py"):
            del sys.modules[module]


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
