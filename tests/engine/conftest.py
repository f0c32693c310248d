from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextecho.engine import Limits
from contextecho.store import Store, open_store
from contextecho.studies import Plan
from engine.models import ScriptedModel
from store.plans import make_plan

QUICK = Limits(first_delay=0.01, longest_delay=0.05, first_pause=0.01)


@pytest.fixture
def limits() -> Limits:
    """The usual limits, with short waits."""
    return QUICK


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "kept") as opened:
        yield opened


@pytest.fixture
def plan() -> Plan:
    """2 positions x 2 arms x 3 probes: 12 cells on 4 prefixes."""
    return make_plan()


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel("openai/one")
