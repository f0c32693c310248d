from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.sessions import example_session
from docs.pages import Page, Run


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the bundled session in it, as the guide assumes."""
    shutil.copy(example_session(), tmp_path / "session.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CONTEXTECHO_STORE", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def lay_out(desk: Path) -> Callable[[Page], None]:
    """Write the files that a page shows, those with a title, to the working directory."""

    def write(page: Page) -> None:
        for block in page.blocks:
            if block.title:
                (desk / block.title).write_text(block.text, encoding="utf-8")

    return write


@pytest.fixture
def run(desk: Path) -> Run:
    """Run a command line and return what a terminal would show: both streams, in order."""

    def command(*arguments: str, stderr: bool = True) -> str:
        shown = io.BytesIO()
        terminal = io.TextIOWrapper(shown, encoding="utf-8", write_through=True)
        errors = terminal if stderr else io.StringIO()
        with redirect_stdout(terminal), redirect_stderr(errors), suppress(SystemExit):
            main(arguments)
        return shown.getvalue().decode()

    return command
