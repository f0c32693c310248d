"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long a busy machine takes says nothing about the program.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

REPOSITORY = Path(__file__).resolve().parent.parent


def _shared_folder() -> Path | None:
    named = os.environ.get("CONTEXTECHO_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    return folder if folder.is_dir() else None


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts, here and in children, even where the tests run with it ignored (`&`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real sessions, papers and parity values, beside the repository."""
    folder = _shared_folder()
    if folder is None:
        pytest.skip("no shared folder: set CONTEXTECHO_SHARED to run the tests on real sessions")
    return folder


@pytest.fixture(scope="session")
def claude_sessions(shared: Path) -> list[Path]:
    """Every Claude Code file of the shared folder, in a fixed order."""
    return sorted((shared / "sessions" / "claude-code").rglob("*.jsonl"))
