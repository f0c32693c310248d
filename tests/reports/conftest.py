"""The runs of `report.runs` as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contextecho.scoring import RunAnalysis
from reports.browsing import CHROMIUM, FLAGS
from reports.shapes import SHAPES


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=sorted(SHAPES))
def shape(request: pytest.FixtureRequest) -> RunAnalysis:
    """Each kind of run that a report must survive."""
    return SHAPES[request.param]()


@pytest.fixture
def judged() -> RunAnalysis:
    """A full run of one target with a judge: 12 positions, four arms."""
    return SHAPES["judged"]()
