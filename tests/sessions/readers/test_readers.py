"""Readers are found: our modules by being there, other packages' by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextecho.errors import UsageError
from contextecho.sessions import readers
from sessions.looking import format_of

READER = """
NAME = "shouts"
def sniff(head): return head.startswith(b"SHOUT")
def read(path): raise NotImplementedError
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    for kept in (readers._our_modules, readers._installed):
        kept.cache_clear()
    yield
    for kept in (readers._our_modules, readers._installed):
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


OURS = [
    *("anthropic", "chatgpt", "claude-ai", "claude-code", "codex", "contextecho", "copilot"),
    *("gemini", "inspect", "mini-swe-agent", "opencode", "openhands", "pi", "sharegpt"),
    *("sillytavern", "spans", "swe-agent"),
]
OWNERS = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "swe-agent": "swe-agent",
    "other/copilot": "copilot",
    "other/openai-chat": "chat",
    "other/opencode": "opencode",
    "other/openhands": "openhands",
    "other/pi": "pi",
}
"""Whose files lie in which folder of the real ones."""
NOBODYS = ("LICENCES.md", "SOURCES.md", ".meta.json", "62b71fe7-2de1-4d37-83e3-fddac2e2c43a.jsonl")
"""How the names of those end that hold no conversation."""


def names() -> list[str]:
    return [reader.NAME for reader in readers.readers()]


def test_our_readers_are_asked_and_chat_is_the_last() -> None:
    assert sorted(names()[:-1]) == OURS
    assert names()[-1] == "chat"


def test_the_clients_that_leave_files_by_the_thousand_are_asked_first() -> None:
    """What a reader that is asked in vain decodes, it decodes of each of those files."""
    assert names()[:2] == ["claude-code", "codex"]


def test_every_real_file_is_known_by_the_reader_of_its_format_alone(shared: Path) -> None:
    """However much of it is seen; what is too little to tell is nobody's."""
    folder = shared / "sessions"
    known = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        owners = {owner for place, owner in OWNERS.items() if name.startswith(f"{place}/")}
        if name.endswith(NOBODYS):
            owners = set()
        data = path.read_bytes()
        line_end = data.find(b"\n", 1 << 16) + 1
        for head in (data[:300], data[:4_000]):
            assert knowing(head) <= owners, name
        for head in (data[: 1 << 16], data[: line_end or None], data):
            assert knowing(head) == owners, name
        if owners:
            assert {format_of(path)} == owners, name
        known |= owners
    assert known == set(OWNERS.values())


def knowing(head: bytes) -> set[str]:
    return {reader.NAME for reader in readers.readers() if reader.sniff(head)}


def test_a_module_beside_the_others_is_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shouts_beside.py").write_text(READER)
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])
    assert sorted(names()[:-1]) == sorted([*OURS, "shouts"])


def test_another_packages_reader_is_asked_before_chat(
    tmp_path: Path, install: Callable[[str, str], None]
) -> None:
    install("shouts_installed", READER)
    assert names()[-2:] == ["shouts", "chat"]
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
