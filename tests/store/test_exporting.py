"""Exports hold every cell, verdict and attempt, and the tree has the release's names."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import UsageError
from contextecho.models import Failed, FailureKind, Truncated
from contextecho.store import RunInfo, Store, Verdict, export_tables, export_tree
from contextecho.store.exporting.tables import FORMATS
from contextecho.studies import Plan
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan


@pytest.fixture
def full(store: Store, run: RunInfo, plan: Plan) -> Store:
    """An answer with a verdict, a truncation, a failure that was asked again, and a lost call."""
    key = ask(store, run, plan.request(plan.cells[0]), answer("é \x00\n"))
    ask(store, run, plan.request(plan.cells[1]), Truncated(text="I would", stop_reason="length"))
    failed = Failed(kind=FailureKind.SERVER, message="no", status=500)
    ask(store, run, plan.request(plan.cells[2]), failed)
    store.open_attempt(run.id, plan.request(plan.cells[2]))
    verdict = Verdict(
        reply_key=key, scorer="register/j", scorer_version="1", value=2.0, detail={"reason": "why"}
    )
    store.put_verdict(verdict)
    return store


def read(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    return rows


def test_half_a_table_is_taken_away_when_the_disk_is_full(
    full: Store, run: RunInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fill(file: Path, *_: object) -> None:
        file.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(FORMATS, "jsonl", fill)
    with pytest.raises(OSError, match="No space"):
        export_tables(full, [run], tmp_path / "out", "jsonl")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_tables_hold_every_cell_verdict_and_attempt(
    full: Store, run: RunInfo, plan: Plan, tmp_path: Path, form: str
):
    files = export_tables(full, [run], tmp_path / "out", form)
    assert [file.name for file in files] == [
        f"{t}.{form}" for t in ("cells", "verdicts", "attempts")
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f.name for f in files
    )
    cells, verdicts, attempts = map(read, files)
    assert [cell["ordinal"] for cell in cells] == list(range(12))
    assert [cell["key"] for cell in cells] == [plan.request(cell).key for cell in plan.cells]
    first = cells[0]
    assert (first["text"], first["outcome"], first["input"]) == ("é \x00\n", "answer", 100)
    assert (first["arm"], first["position"], first["seconds"]) == ("control", "P00", 0.25)
    assert (cells[1]["outcome"], cells[1]["input"]) == ("truncated", None)
    assert (cells[2]["failure"], cells[2]["status"], cells[2]["attempts"]) == ("server", 500, 2)
    assert (cells[3]["outcome"], cells[3]["collected_at"]) == (None, None)
    (verdict,) = verdicts
    assert (verdict["value"], json.loads(verdict["detail"])) == (2.0, {"reason": "why"})
    assert [attempt["outcome"] for attempt in attempts] == ["answer", "truncated", "failed", None]
    assert {attempt["target"] for attempt in attempts} == {"openai/one"}


def test_parquet_without_pyarrow_says_what_to_install(
    full: Store, run: RunInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'contextecho\[parquet\]'"):
        export_tables(full, [run], tmp_path, "parquet")


def test_a_tree_has_the_release_s_paths_and_field_names(full: Store, run: RunInfo, tmp_path: Path):
    assert export_tree(full, run, tmp_path) == 2
    folder = tmp_path / "results" / "probes_at_crosscompaction" / "one" / "P00" / "filler"
    assert sorted(path.name for path in folder.iterdir()) == ["C00.json", "C01.json"]
    cell = json.loads((folder / "C00.json").read_text("utf-8"))
    assert cell.pop("collected_at") is not None
    assert cell == {
        "probe_id": "C00",
        "probe_category": "coding-self",
        "probe_text": "Question number 0?",
        "arm": "filler",
        "position": "P00",
        "target": "openai/one",
        "session": "s1",
        "battery": "probes",
        "response_text": "é \x00\n",
        "response_len": 4,
        "wall_clock_sec": 0.25,
        "input_tokens": 100,
        "output_tokens": 7,
        "score": 2,
        "judge": "j",
        "reason": "why",
    }
    bare = json.loads((folder / "C01.json").read_text("utf-8"))
    assert {"input_tokens", "output_tokens", "score"} & bare.keys() == set()
    manifest = json.loads((tmp_path / "results" / "MANIFEST.json").read_text("utf-8"))
    assert [entry["path"] for entry in manifest["cells"]] == [
        f"probes_at_crosscompaction/one/P00/filler/C0{number}.json" for number in (0, 1)
    ]


def test_samples_and_targets_of_one_name_do_not_overwrite_each_other(store: Store, tmp_path: Path):
    plan = make_plan(targets=("openai/gpt-4.1", "openrouter/gpt-4.1"), replicates=2, probes=1)
    run = store.begin_run(plan, "s", VERSIONS)
    for number, cell in enumerate(plan.cells):
        ask(store, run, plan.request(cell), answer(str(number)))
    assert export_tree(store, run, tmp_path) == len(plan.cells) == 16
    files = list((tmp_path / "results").rglob("C*.json"))
    assert len({json.loads(file.read_text())["response_text"] for file in files}) == 16
    assert {file.name for file in files} == {"C00.json", "C00_v01.json"}
    targets = {file.relative_to(tmp_path / "results").parts[1] for file in files}
    assert targets == {"openai-gpt-4-1", "openrouter-gpt-4-1"}
    arms = {file.parent.name for file in files}
    assert arms == {"claude_session", "filler"}


def test_of_several_judges_one_must_be_named(full: Store, run: RunInfo, plan: Plan, tmp_path: Path):
    key = plan.request(plan.cells[0]).key
    full.put_verdict(
        Verdict(reply_key=key, scorer="register/k", scorer_version="1", value=None, invalid="no")
    )
    with pytest.raises(UsageError, match=r"2 judges .*here: j, k"):
        export_tree(full, run, tmp_path)
    with pytest.raises(UsageError, match="0 judges"):
        export_tree(full, run, tmp_path, judge="x")
    export_tree(full, run, tmp_path, judge="k")
    (file,) = (tmp_path / "results").rglob("C00.json")
    cell = json.loads(file.read_text("utf-8"))
    assert cell["judge_parse_error"] == "no"
    assert "score" not in cell
