"""A terminal, and sessions to work on: a short one of ours and a long real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.terminal import Terminal

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
