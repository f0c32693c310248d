"""The runs of `report.runs` as fixtures."""

from __future__ import annotations

import pytest

from contextecho.scoring import RunAnalysis
from reports.shapes import SHAPES


@pytest.fixture(params=sorted(SHAPES))
def shape(request: pytest.FixtureRequest) -> RunAnalysis:
    """Each kind of run that a report must survive."""
    return SHAPES[request.param]()


@pytest.fixture
def judged() -> RunAnalysis:
    """A full run of one target with a judge: 12 positions, four arms."""
    return SHAPES["judged"]()
