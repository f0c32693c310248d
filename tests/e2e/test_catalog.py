"""Every study of the catalog: planned, collected on a simulated target, and reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.studies import load_study, study_ids
from e2e.terminal import Terminal

pytestmark = pytest.mark.slow  # `tests/studies/test_levels.py` plans each of them

TARGET = "simulated/gap=0.6,restoration=0.5,seed=3"
JUDGE = "simulated/judge,error=0.1,seed=1"


@pytest.mark.parametrize("name", study_ids())
def test_a_study_is_planned_collected_and_reported(
    name: str, terminal: Terminal, long_path: Path, shared: Path
) -> None:
    study = load_study(name)
    others = [shared / "parity" / "synthetic_session.jsonl"]
    others += [shared / "sessions" / "claude-code" / "cipherbox-e89fb6a2d646-0.jsonl"]
    sessions = [long_path, *others[: study.sessions - 1]]
    words = [*sessions, "--target", TARGET, "--study", name, "--n", "1"]
    words += ["--positions", "even:2"] * (study.positions in ("compactions", "even:12"))
    judged = study.judges > 0
    words += ["--judge", JUDGE] if judged else []
    planned = terminal.run("plan", *words, "--json")
    plans = planned.json if isinstance(planned.json, list) else [planned.json]
    assert len(plans) == len(sessions) * max(1, len(study.levels))

    done = terminal.run("probe", *words, "--quiet", "-o", "report.md", "--json")
    assert done.code == 0, done.err
    series = done.json.get("parts")
    analyses = [part["analysis"] for part in series] if series else [done.json]
    assert len(analyses) == len(plans)
    first = study.contrasts[0].id
    for plan, analysis in zip(plans, analyses, strict=True):
        assert sum(d["planned"] for d in analysis["denominators"]) == plan["estimate"]["cells"]
        assert all(d["missing"] == 0 for d in analysis["denominators"])
        found = [c for c in analysis["contrasts"] if (c["id"], c["scope"]) == (first, "overall")]
        assert any(c["estimate"] is not None for c in found)
    written = (terminal.folder / "report.md").read_text()
    assert all(analysis["run"]["id"] in written for analysis in analyses)
    if series and study.levels:
        assert len({change["after"] for change in done.json["changes"]}) >= 1


def test_a_series_is_reported_again_from_any_of_its_runs(
    terminal: Terminal, long_path: Path
) -> None:
    words = (long_path, "--target", TARGET, "--study", "placement", "--n", "1", "--quiet")
    done = terminal.run("probe", *words, "--positions", "even:2", "--json")
    ids = [part["analysis"]["run"]["id"] for part in done.json["parts"]]
    for run in ids:
        page = terminal.run("report", run, "--series", "-o", "series.html")
        assert page.code == 0
        html = (terminal.folder / "series.html").read_text()
        assert all(each in html for each in ids)
    again = terminal.run("report", ids[0], "--series", "--format", "json", "-o", "-")
    assert again.json["schema"] == "contextecho.series/1"


def test_one_budget_covers_all_runs_of_a_series(terminal: Terminal, long_path: Path) -> None:
    """Twelve levels; what is left of them when the budget ends is said, and goes on."""
    words = (long_path, "--target", TARGET, "--study", "persistence", "--n", "1", "--quiet")
    done = terminal.run("probe", *words, "--budget", "300ktok")
    assert done.code == 5
    assert "of 12 not begun" in done.err
    assert "the budget is used up" in done.err
