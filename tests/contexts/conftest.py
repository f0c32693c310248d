"""The independent tokenizer, and the real sessions that hold a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from rs_bpe.bpe import openai

from contextecho.contexts import EstimateCounter
from contextecho.contexts.tokens import CountedOnce
from contextecho.errors import SessionError
from contextecho.sessions import Session, read_session

COUNTER = CountedOnce(EstimateCounter())
"""The estimate, which meets the same long texts in test after test."""


class O200k:
    """OpenAI's o200k vocabulary by way of `rs_bpe`, which is none of our code."""

    name = "o200k"

    def __init__(self) -> None:
        self._vocabulary = openai.o200k_base()

    def count(self, text: str) -> int:
        return self._vocabulary.count(text)


@pytest.fixture(scope="session")
def o200k() -> O200k:
    return O200k()


@pytest.fixture(scope="session")
def real_sessions(claude_sessions: list[Path]) -> list[Session]:
    sessions = []
    for path in claude_sessions:
        try:
            sessions.append(read_session(path))
        except SessionError:
            continue
    assert len(sessions) > 20
    return [session for session in sessions if session.row_turns]


@pytest.fixture(scope="session")
def long_session(shared: Path) -> Session:
    """Three compactions, 572 row turns."""
    return read_session(shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl")


@pytest.fixture(scope="session")
def synthetic(shared: Path) -> Session:
    """The session of the parity folder: 1202 row turns, two compactions."""
    return read_session(shared / "parity" / "synthetic_session.jsonl")
