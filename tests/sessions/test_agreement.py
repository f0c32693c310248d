"""Our counts against two other parsers': they differ where docs/formats.md says so."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from contextecho.sessions import read_session

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats.md"


@pytest.fixture(scope="module")
def agreement() -> ModuleType:
    path = ROOT / "benchmarks" / "agreement.py"
    spec = importlib.util.spec_from_file_location("agreement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["agreement"] = module  # named tuples look their module up
    spec.loader.exec_module(module)
    return module


def explained() -> list[tuple[str, str, str, int, int]]:
    """The rows of the page's table, without their reasons, which have to be there."""
    rows = []
    section = PAGE.read_text("utf-8").partition("## Agreement with other parsers")[2]
    table, _, reasons = section.partition("### Why")
    for line in table.splitlines():
        if line.startswith("| `"):
            file, parser, measure, ours, theirs, why = (
                c.strip() for c in line.strip("|").split("|")
            )
            assert all(f"**{reason}.**" in reasons for reason in why.split(", ")), why
            numbers = (int(number.replace(",", "")) for number in (ours, theirs))
            rows.append((file.strip("`"), parser, measure, *numbers))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("parser", ["claude-code-log", "ccusage"])
def test_the_differences_are_exactly_those_explained(
    agreement: ModuleType, shared: Path, monkeypatch: pytest.MonkeyPatch, parser: str
) -> None:
    if agreement.PARSERS[parser]() is None:
        pytest.skip(f"{parser} is not installed: see docs/formats.md")
    for other in agreement.PARSERS.keys() - {parser}:
        monkeypatch.setitem(agreement.PARSERS, other, lambda: None)
    folder = shared / "sessions" / "claude-code"
    sessions = list(agreement.sessions_below(folder))
    assert len(sessions) == 33
    found = agreement.differences(folder, sessions)
    assert sorted(found) == sorted(row for row in explained() if row[1] == parser)


def test_our_sums_take_the_largest_usage_of_each_message(
    agreement: ModuleType, shared: Path
) -> None:
    """`agentv`: 11 messages; by jq, `max` of the output tokens of each id, added up: 4119."""
    session = read_session(shared / "sessions" / "claude-code" / "agentv-d266d094ed-1.jsonl")
    assert agreement.counted(session) == {
        "messages": 11,
        "input": 15,
        "output": 4119,
        "cache_creation": 34_701,
        "cache_read": 525_595,
    }
