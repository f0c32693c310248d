"""Readers are found: our modules by being there, other packages' by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextecho.errors import UsageError
from contextecho.sessions import readers
from contextecho.sessions.reading import format_of

READER = """
NAME = "shouts"
def sniff(head): return head.startswith(b"SHOUT")
def read(path): raise NotImplementedError
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    for kept in (readers._ours, readers._installed):
        kept.cache_clear()
    yield
    for kept in (readers._ours, readers._installed):
        kept.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a package of one module whose reader is named by an entry point."""

    def _install(module: str, source: str) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        folder = tmp_path / f"{module}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[contextecho.readers]\nx = {module}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return _install


def test_a_module_beside_the_others_is_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shouts_beside.py").write_text(READER)
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])
    assert [reader.NAME for reader in readers.readers()] == ["claude-code", "shouts", "chat"]


def test_another_packages_reader_is_asked_before_chat(
    tmp_path: Path, install: Callable[[str, str], None]
) -> None:
    install("shouts_installed", READER)
    assert [reader.NAME for reader in readers.readers()] == ["claude-code", "shouts", "chat"]
    (tmp_path / "a").write_bytes(b"SHOUT\n")
    assert format_of(tmp_path / "a") == "shouts"


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("shouts_broken", "import no_such_module_at_all", "cannot be loaded: ModuleNotFoundError"),
        ("shouts_without_read", "NAME = 'x'", "needs NAME, sniff and read"),
    ],
)
def test_a_package_without_a_usable_reader_is_named_in_one_line(
    install: Callable[[str, str], None], module: str, source: str, reason: str
) -> None:
    install(module, source)
    with pytest.raises(UsageError, match=reason) as refused:
        list(readers.readers())
    assert str(refused.value).startswith(f"{module}: ")
    assert "\n" not in str(refused.value)
