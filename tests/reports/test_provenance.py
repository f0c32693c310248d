"""What a report says of the session that was probed: who spoke in it, and when."""

from __future__ import annotations

import msgspec
import pytest

from contextecho.reports import render
from contextecho.reports.provenance import UNKNOWN, facts
from contextecho.reports.view import view_of
from contextecho.scoring import RunAnalysis


def _said(analysis: RunAnalysis, **origin: object) -> dict[str, str]:
    plan = dict(analysis.run.plan)
    plan["origin"] = plan["origin"] | origin
    run = msgspec.structs.replace(analysis.run, plan=plan)
    return dict(facts(view_of(msgspec.structs.replace(analysis, run=run))))


def test_it_names_the_client_the_models_the_length_and_the_time(judged: RunAnalysis) -> None:
    said = _said(judged, began=1_767_225_600.0, ended=1_767_229_199.0)
    assert said["session of"] == "claude-code 2.1.30 and 2.1.62"
    assert said["its models"] == "claude-opus-4-6"
    assert said["its length"] == "31 prompts, 82 agent steps"
    assert said["its time"] == "2026-01-01 00:00 UTC to 2026-01-01 00:59 UTC"


@pytest.mark.parametrize("ended", [None, 1e18])
def test_a_time_that_there_is_not_is_not_recorded(judged: RunAnalysis, ended: float | None) -> None:
    assert UNKNOWN in _said(judged, ended=ended)["its time"]


@pytest.mark.parametrize("format", ["html", "md"])
def test_names_from_the_session_are_escaped(judged: RunAnalysis, format: str) -> None:
    plan = dict(judged.run.plan)
    plan["origin"] = plan["origin"] | {"models": ["<script>alert(1)</script>"]}
    run = msgspec.structs.replace(judged.run, plan=plan)
    assert "<script>alert" not in render(msgspec.structs.replace(judged, run=run), format)
