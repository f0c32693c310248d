"""A store in each kind of database, with a small run begun."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contextecho.store import RunInfo, Store, open_store
from contextecho.studies import Plan
from store.kept import VERSIONS
from store.plans import make_plan


@pytest.fixture
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def run(store: Store, plan: Plan) -> RunInfo:
    return store.begin_run(plan, "session.jsonl", VERSIONS)
