"""Fixtures that every room's tests share."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from servers.postgres import PostgresServer, programs

# How long a busy machine takes says nothing about the program. Tests are many: 60 examples each.
settings.register_profile(
    "any machine",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")

# Each Python that a test starts would else compile the program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the garbage collector need not look at them again."""
    gc.freeze()


REPOSITORY = Path(__file__).resolve().parent.parent


def _shared_folder() -> Path | None:
    named = os.environ.get("CONTEXTECHO_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def running_numbers() -> Iterator[int]:
    """Numbers that no other folder of this run has."""
    return itertools.count(1)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    running_numbers: Iterator[int],
) -> Path:
    """As pytest's own, which looks for a free number among the folders of all tests before."""
    name = re.sub(r"\W", "_", request.node.name)[:24]
    return tmp_path_factory.mktemp(f"{name}-{next(running_numbers)}", numbered=False)


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the tests start, use and throw away."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    if find_spec("psycopg") is None:
        pytest.skip("no psycopg here: pip install 'contextecho[postgres]'")
    server = PostgresServer(found)
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be made, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "kept")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url()
