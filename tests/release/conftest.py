"""A small sound tree, made once, and what is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.release import Tree, read_release
from release.faults import TOUCHED
from release.writing import write_tree


@pytest.fixture(scope="package")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "sound"
    write_tree(folder, small=True)
    return folder


@pytest.fixture(scope="package")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of that tree what faults are done to: hundreds of files, not thousands."""
    folder = tmp_path_factory.mktemp("release") / "few"
    write_tree(
        folder, small=True, change=lambda path, keys: keys if path.startswith(TOUCHED) else None
    )
    return folder


@pytest.fixture(scope="package")
def few_read(few: Path) -> Tree:
    return read_release(few)


@pytest.fixture(scope="package")
def tree(sound: Path) -> Tree:
    return read_release(sound)
