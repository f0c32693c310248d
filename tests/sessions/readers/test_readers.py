"""Readers are found: our modules by being there, other packages' by their entry points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contextecho.sessions import readers, registry
from sessions.looking import format_of

READER = """
NAME = "shouts"
def sniff(head): return head.startswith(b"SHOUT")
def read(path): raise NotImplementedError
"""


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
    return [reader.NAME for reader in registry.readers()]


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
    return {reader.NAME for reader in registry.readers() if reader.sniff(head)}


def test_a_module_beside_the_others_is_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Callable[[str, str], None]
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
