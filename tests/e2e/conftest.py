"""A terminal, and sessions to work on: a short one of ours and a long real one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.ledger import settled_texts
from e2e.refusing import SHORT
from e2e.terminal import Terminal
from servers.serving import serving

TURNS = 40


def write_chat(path: Path, turns: int = TURNS) -> Path:
    """A plain chat of `turns` prompts, each with its answer."""
    rows = []
    for number in range(1, turns + 1):
        rows.append({"role": "user", "content": f"Please do step {number} of the plan."})
        rows.append({"role": "assistant", "content": f"Step {number} is done; the tests pass."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A terminal in an empty folder."""
    return Terminal(tmp_path)


@pytest.fixture
def chat(tmp_path: Path) -> str:
    """A short session, by its name in the terminal's folder."""
    return write_chat(tmp_path / "chat.jsonl").name


@pytest.fixture(scope="session")
def long_path(shared: Path) -> Path:
    """A real session with 572 row turns and three compactions."""
    return shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl"


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session and a store that holds 40 good replies to it."""
    terminal = Terminal(tmp_path_factory.mktemp("collected"))
    write_chat(terminal.folder / "chat.jsonl")
    with serving(text="A good reply.") as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT)
        done = terminal.run("probe", "chat.jsonl", *words, "--battery", "coding-self")
    assert done.code == 0
    assert len(settled_texts(terminal.folder)) == 40
    return terminal.folder


@pytest.fixture
def kept(collected: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in a copy of it; whatever the test does, the replies must still be there."""
    shutil.copytree(collected, tmp_path / "kept")
    folder = tmp_path / "kept"
    before = settled_texts(folder)
    yield Terminal(folder)
    assert settled_texts(folder).count("A good reply.") == len(before)
