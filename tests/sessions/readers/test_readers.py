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
    "claude-code/entire-cd95adddad32-0.jsonl": "claude-code",
    "codex/agent-sessions-small.jsonl": "codex",
    "codex/agent-sessions-codex-050-legacy.jsonl": "codex",
    "gemini/session-bridge-4f17cdc65d-0.json": "gemini",
    "gemini/gemini-cli-agent-teams-history.json": "gemini",
    "gemini/agent-sessions-jsonl-v040.jsonl": "gemini",
    "other/opencode/session-bridge-dddd416599-3.json": "opencode",
    "other/opencode/storage_v2/session/proj_test/ses_s_stage0_small.json": "opencode",
    "other/copilot/vct-zh-tw-copilot.jsonl": "copilot",
    "other/pi/before-compaction.jsonl": "pi",
    "other/openhands/basic.json": "openhands",
    "other/openhands/multi-swe-bench-output.jsonl": "openhands",
    "other/openai-chat/mini-swe-agent-github-issue.json": "chat",
    "swe-agent/function-calling-simple.traj": "swe-agent",
    "swe-agent/pydicom-1458.traj": "swe-agent",
}


def names() -> list[str]:
    return [reader.NAME for reader in readers.readers()]


def test_our_readers_are_asked_and_chat_is_the_last() -> None:
    assert sorted(names()[:-1]) == OURS
    assert names()[-1] == "chat"


def test_the_clients_that_leave_files_by_the_thousand_are_asked_first() -> None:
    """What a reader that is asked in vain decodes, it decodes of each of those files."""
    assert names()[:2] == ["claude-code", "codex"]


@pytest.mark.parametrize("file", OWNERS)
def test_a_file_is_known_by_the_reader_of_its_format_alone(shared: Path, file: str) -> None:
    head = (shared / "sessions" / file).read_bytes()[: 1 << 16]
    knowing = [reader.NAME for reader in readers.readers() if reader.sniff(head)]
    assert knowing == [OWNERS[file]]
    assert format_of(shared / "sessions" / file) == OWNERS[file]


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
